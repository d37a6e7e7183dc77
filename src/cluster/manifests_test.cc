#include "cluster/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "json/json.h"

namespace drachma::cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> PlacesOf(std::string_view text) {
  const std::vector<Manifest> manifests = ParseManifests(text, "f").value();
  std::vector<std::string> places;
  for (const Manifest& manifest : manifests) places.push_back(manifest.Place());
  return places;
}

TEST(ParseManifests, ListsStandForTheirItems) {
  EXPECT_THAT(PlacesOf(R"(apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Pod, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Secret, metadata: {name: b}}
)"),
              ElementsAre("f:4: Pod/a", "f:8: Secret/b"));
}

TEST(ParseManifests, ItemsOfTypedListsTakeTheirKindFromTheList) {
  EXPECT_THAT(PlacesOf(R"(apiVersion: apps/v1
kind: DeploymentList
items:
- metadata: {name: a}
---
apiVersion: v1
kind: PodList
items: null
)"),
              ElementsAre("f:4: Deployment/a"));
}

TEST(ParseManifests, OpaqueParametersAreSentAsKubectlSendsThem) {
  const std::vector<Manifest> manifests = ParseManifests(R"(
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: c}
spec: {config: [{opaque: {driver: d, parameters: {kind: K, apiVersion: x/v1}}}]}
)",
                                                         "f")
                                              .value();
  EXPECT_THAT(json::Write(manifests[0].object), HasSubstr(R"({"apiVersion":"x/v1","kind":"K"})"));
}

TEST(ParseManifests, TheKindsOfTheDriversAreKnown) {
  EXPECT_THAT(PlacesOf("{apiVersion: resource.nvidia.com/v1beta1, kind: ComputeDomain, metadata: "
                       "{name: d}}"),
              ElementsAre("f:1: ComputeDomain/d"));
  EXPECT_FALSE(
      ParseManifests("{apiVersion: resource.nvidia.com/v2, kind: ComputeDomain, metadata: "
                     "{name: d}}",
                     "f"));
}

TEST(LoadManifests, FoldersAndFilesWithoutObjectsAreErrors) {
  const std::string folder = testing::TempDir() + "/manifests_test_empty";
  std::filesystem::create_directories(folder);
  EXPECT_THAT(LoadManifests({folder}).error().message, HasSubstr("holds no .yaml"));
  EXPECT_THAT(LoadManifests({"/dev/null"}).error().message, HasSubstr("no objects there"));
}

TEST(LoadManifests, AFileThatCannotBeReadToItsEndIsAnError) {
  // Opens, but nothing is mapped where reading begins.
  EXPECT_THAT(LoadManifests({"/proc/self/mem"}).error().message, HasSubstr("to its end"));
}

}  // namespace
}  // namespace drachma::cluster
