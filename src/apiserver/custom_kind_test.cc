#include "apiserver/custom_kind.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

using ::testing::ElementsAre;

// The versions that a definition of an old and a stored version is served in.
std::vector<std::string> ServedVersions(std::string_view conversion) {
  constexpr std::string_view kVersion =
      R"({{"name":"{}","served":true,"storage":{},"schema":{{"openAPIV3Schema":{{"type":"object"}}}}}})";
  const auto definition = json::Read(fmt::format(
      R"({{"spec":{{"group":"gpu.example","scope":"Namespaced","names":{{"plural":"domains",
      "kind":"Domain"}},"conversion":{},"versions":[{},{}]}}}})",
      conversion, fmt::format(kVersion, "v1beta1", "false"), fmt::format(kVersion, "v1", "true")));
  const auto kind = MakeCustomKind(definition.value());
  std::vector<std::string> versions;
  if (!kind) return {kind.error().message};
  for (const api::VersionInfo& version : (*kind)->info().versions) {
    versions.emplace_back(version.version);
  }
  return versions;
}

TEST(ServedVersionsTest, VersionsThatOnlyDifferInNameAreAllServed) {
  EXPECT_THAT(ServedVersions(R"({"strategy":"None"})"), ElementsAre("v1beta1", "v1"));
}

TEST(ServedVersionsTest, WhatAWebhookWouldConvertIsServedAsItIsStored) {
  EXPECT_THAT(ServedVersions(R"({"strategy":"Webhook"})"), ElementsAre("v1"));
}

}  // namespace
}  // namespace drachma::apiserver
