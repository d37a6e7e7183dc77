#include "controllers/storage_protection.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "controllers/test_cluster.h"

namespace drachma::controllers {
namespace {

namespace resources = client::resources;
using json::Value;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

const client::Resource kClaims = {"", "v1", "persistentvolumeclaims"};
const client::Resource kVolumes = {"", "v1", "persistentvolumes"};
const client::Resource kVolumeClasses = {"storage.k8s.io", "v1", "volumeattributesclasses"};

constexpr std::string_view kLeavingClaim = R"(
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  namespace: default
  finalizers: [kubernetes.io/pvc-protection, x/y]
  deletionTimestamp: "2026-11-30T09:00:00Z"
spec: {volumeAttributesClassName: fast}
)";

std::string PodWith(std::string_view volume, std::string_view node = "n1") {
  return fmt::format(R"(
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: default, uid: uid-p}}
spec: {{nodeName: "{}", volumes: [{}], containers: [{{name: c}}]}}
)",
                     node, volume);
}

class StorageProtectionTest : public testing::Test {
 protected:
  TestCluster cluster_{{"persistentvolumeclaim-protection-controller",
                        "persistentvolume-protection-controller",
                        "volumeattributesclass-protection-controller"}};

  std::vector<std::string> FinalizersOf(const client::Resource& resource, std::string_view ns,
                                        std::string_view name) {
    cluster_.Run();
    std::vector<std::string> finalizers;
    const Value object = cluster_.api().Get(resource, ns, name);
    for (const Value& finalizer : object["metadata"]["finalizers"].Items()) {
      finalizers.emplace_back(finalizer.AsString());
    }
    return finalizers;
  }
  std::vector<std::string> OfTheClaim() { return FinalizersOf(kClaims, "default", "data"); }
};

TEST_F(StorageProtectionTest, AClaimStaysUntilItsLastPodHasGone) {
  cluster_.api().Apply(kLeavingClaim);
  cluster_.api().Apply(PodWith("{name: v, persistentVolumeClaim: {claimName: data}}"));
  EXPECT_THAT(OfTheClaim(), ElementsAre("kubernetes.io/pvc-protection", "x/y"));
  cluster_.api().Remove(resources::kPods, "default", "p");
  EXPECT_THAT(OfTheClaim(), ElementsAre("x/y"));
}

TEST_F(StorageProtectionTest, APodWithoutANodeKeepsNoClaim) {
  cluster_.api().Apply(kLeavingClaim);
  cluster_.api().Apply(PodWith("{name: v, persistentVolumeClaim: {claimName: data}}", ""));
  EXPECT_THAT(OfTheClaim(), ElementsAre("x/y"));
}

TEST_F(StorageProtectionTest, APodThatTheCacheDoesNotKnowYetKeepsItsClaim) {
  cluster_.api().OnRequest([this, late = false](const client::Request& request) mutable {
    if (late || request.verb != client::Verb::kList || request.resource != resources::kPods) return;
    late = true;
    cluster_.api().Apply(PodWith("{name: v, persistentVolumeClaim: {claimName: data}}"));
  });
  cluster_.api().Apply(kLeavingClaim);
  EXPECT_THAT(OfTheClaim(), Contains("kubernetes.io/pvc-protection"));
}

TEST_F(StorageProtectionTest, AnEphemeralVolumeKeepsTheClaimThatItsPodOwns) {
  cluster_.api().Apply(kLeavingClaim);
  cluster_.api().Change(kClaims, "default", "data", [](Value& claim) {
    claim.Edit("metadata").Set("name", "p-v");
    claim.Edit("metadata")
        .Set("ownerReferences", Value::Array({Value::Object(
                                    {{"kind", "Pod"}, {"uid", "uid-p"}, {"controller", true}})}));
  });
  const Value owned = cluster_.Get(kClaims, "data");
  cluster_.api().Remove(kClaims, "default", "data");
  cluster_.api().Put(owned);
  cluster_.api().Apply(PodWith("{name: v, ephemeral: {}}"));
  EXPECT_THAT(FinalizersOf(kClaims, "default", "p-v"), Contains("kubernetes.io/pvc-protection"));
  cluster_.api().Change(resources::kPods, "default", "p", [](Value& pod) {
    pod.Edit("metadata").Set("deletionTimestamp", "2026-11-30T09:00:00Z");
    pod.Edit("metadata").Set("deletionGracePeriodSeconds", 0);
  });
  EXPECT_THAT(FinalizersOf(kClaims, "default", "p-v"), ElementsAre("x/y"));
}

TEST_F(StorageProtectionTest, AnOldClaimGetsItsFinalizer) {
  cluster_.api().Apply(R"({apiVersion: v1, kind: PersistentVolumeClaim,
                           metadata: {name: data, namespace: default}})");
  EXPECT_THAT(OfTheClaim(), ElementsAre("kubernetes.io/pvc-protection"));
}

TEST_F(StorageProtectionTest, AVolumeStaysWhileItIsBound) {
  cluster_.api().Apply(R"(
apiVersion: v1
kind: PersistentVolume
metadata:
  name: disk
  finalizers: [kubernetes.io/pv-protection]
  deletionTimestamp: "2026-11-30T09:00:00Z"
status: {phase: Bound}
)");
  EXPECT_THAT(FinalizersOf(kVolumes, "", "disk"), ElementsAre("kubernetes.io/pv-protection"));
  cluster_.api().Change(kVolumes, "", "disk",
                        [](Value& volume) { volume.Edit("status").Set("phase", "Released"); });
  EXPECT_THAT(FinalizersOf(kVolumes, "", "disk"), IsEmpty());
}

TEST_F(StorageProtectionTest, AnAttributesClassStaysWhileAClaimNamesIt) {
  cluster_.api().Apply(R"(
apiVersion: storage.k8s.io/v1
kind: VolumeAttributesClass
metadata:
  name: fast
  finalizers: [kubernetes.io/vac-protection]
  deletionTimestamp: "2026-11-30T09:00:00Z"
)");
  cluster_.api().Apply(kLeavingClaim);
  EXPECT_THAT(FinalizersOf(kVolumeClasses, "", "fast"),
              ElementsAre("kubernetes.io/vac-protection"));
  cluster_.api().Change(kClaims, "default", "data", [](Value& claim) {
    claim.Edit("spec").Set("volumeAttributesClassName", "slow");
  });
  EXPECT_THAT(FinalizersOf(kVolumeClasses, "", "fast"), IsEmpty());
}

}  // namespace
}  // namespace drachma::controllers
