#include "apiserver/scale_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Faults(std::string_view object) {
  const ScalePaths paths{.spec_replicas = FieldPath(".spec.size"),
                         .status_replicas = FieldPath(".status.now"),
                         .label_selector = FieldPath(".status.labels")};
  const json::Value value = json::Read(object).value();
  validation::ErrorList errors = ScaleSpecErrors(paths, value);
  validation::Append(errors, ScaleStatusErrors(paths, value));
  std::vector<std::string> texts;
  for (const validation::FieldError& error : errors) texts.push_back(error.Text());
  return texts;
}

TEST(ScalePathsTest, WhatIsNotThereIsFine) {
  EXPECT_THAT(Faults(R"({})"), IsEmpty());
  EXPECT_THAT(Faults(R"({"spec":null,"status":{"now":3}})"), IsEmpty());
}

TEST(ScalePathsTest, ReplicasAreNotNegativeAndFit32Bits) {
  EXPECT_THAT(Faults(R"({"spec":{"size":-1},"status":{"now":2147483648}})"),
              ElementsAre(".spec.size: Invalid value: -1: should be a non-negative integer",
                          ".status.now: Invalid value: 2147483648: should be less than or equal to "
                          "2147483647"));
}

TEST(ScalePathsTest, OtherTypesAreToldInGosWords) {
  EXPECT_THAT(
      Faults(R"({"spec":{"size":[1]},"status":{"now":1.5,"labels":7}})"),
      ElementsAre(".spec.size: Invalid value: 0: .spec.size accessor error: [1] is of the type "
                  "[]interface {}, expected int64",
                  ".status.now: Invalid value: 0: .status.now accessor error: 1.5 is of the type "
                  "float64, expected int64",
                  ".status.labels: Invalid value: \"\": .status.labels accessor error: 7 is of the "
                  "type int64, expected string"));
  EXPECT_THAT(Faults(R"({"spec":"x"})"),
              ElementsAre(".spec.size: Invalid value: 0: .spec.size accessor error: x is of the "
                          "type string, expected map[string]interface{}"));
}

}  // namespace
}  // namespace drachma::apiserver
