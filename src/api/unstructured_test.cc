#include "api/unstructured.h"

#include <gtest/gtest.h>

#include <string>

#include "json/json.h"

namespace drachma::api {
namespace {

Result<Decoded> Read(std::string_view text, std::string_view kind = "ResourceSlice",
                     StrictFields strict = StrictFields::kReport) {
  const std::string version = kind == "Pod" ? "v1" : "resource.k8s.io/v1";
  return FromUnstructured(*json::Read(text), *FindTypeOfKind(version, kind), strict);
}

std::string ErrorOf(std::string_view text, std::string_view kind = "ResourceSlice") {
  const Result<Decoded> decoded = Read(text, kind);
  return decoded ? "" : decoded.error().message;
}

TEST(Unstructured, WrongTypesAreToldInTheWordsOfReflection) {
  EXPECT_EQ(ErrorOf(R"({"spec": "x"})"), "cannot restore struct from: string");
  EXPECT_EQ(ErrorOf(R"({"spec": {"devices": {}}})"), "cannot restore slice from map");
  EXPECT_EQ(ErrorOf(R"({"metadata": {"labels": [1]}})"), "cannot restore map from slice");
  EXPECT_EQ(ErrorOf(R"({"metadata": {"name": 1}})"), "cannot convert int64 to string");
  EXPECT_EQ(ErrorOf(R"({"metadata": {"name": 1.5}})"), "unrecognized type: string");
  EXPECT_EQ(ErrorOf(R"({"spec": {"pool": {"generation": "1"}}})"), "unrecognized type: int64");
  EXPECT_EQ(ErrorOf(R"({"spec": {"pool": {"generation": 1.5}}})"),
            "cannot convert float64 to int64");
  EXPECT_EQ(ErrorOf(R"({"metadata": {"creationTimestamp": 1}})"),
            "json: cannot unmarshal number into Go value of type string");
}

TEST(Unstructured, TheFirstFieldOfTheStructIsToldNotTheFirstOfTheText) {
  EXPECT_EQ(ErrorOf(R"({"spec": {"devices": 1, "driver": []}})"), "unrecognized type: string");
}

TEST(Unstructured, WholeFloatsAreIntegersAndLargeOnesWrapAround) {
  const Result<Decoded> slice = Read(R"({"spec": {"pool": {"generation": 5.0}}})");
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->value["spec"]["pool"]["generation"].AsInt(), 5);
  const Result<Decoded> pod = Read(R"({"spec": {"priority": 4294967298}})", "Pod");
  ASSERT_TRUE(pod);
  EXPECT_EQ(pod->value["spec"]["priority"].AsInt(), 2);
}

TEST(Unstructured, KeysOfMapsAreNoStepsInThePathsOfUnknownFields) {
  const Result<Decoded> slice =
      Read(R"({"z": 1, "spec": {"devices": [{"attributes": {"a": {"foo": 1}}}]}})");
  ASSERT_TRUE(slice);
  EXPECT_EQ(slice->strict_errors,
            (std::vector<std::string>{R"(unknown field "spec.devices[0].attributes.foo")",
                                      R"(unknown field "z")"}));
}

}  // namespace
}  // namespace drachma::api
