// Patches of all four kinds against a claim and a pod, through the registry's own transform: it
// answers with an object or an error. The first byte chooses kind of patch and object.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/codec.h"
#include "apiserver/kind.h"
#include "apiserver/transforms.h"
#include "base/check.h"
#include "json/json.h"

namespace {

using drachma::Result;
using drachma::Time;
using drachma::apiserver::ApiRequest;
using drachma::apiserver::KindPtr;
namespace api = drachma::api;
namespace client = drachma::client;
namespace json = drachma::json;

constexpr std::string_view kClaim = R"json({
  "apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim",
  "metadata":{"name":"c","namespace":"n","uid":"u","resourceVersion":"7","labels":{"a":"b"},
    "managedFields":[{"manager":"m","operation":"Apply","apiVersion":"resource.k8s.io/v1",
      "time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1",
      "fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}]},
  "spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu","count":1,
    "allocationMode":"ExactCount"}}]}}})json";
constexpr std::string_view kPod = R"json({
  "apiVersion":"v1","kind":"Pod",
  "metadata":{"name":"p","namespace":"n","uid":"u","resourceVersion":"7"},
  "spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"protocol":"TCP"}],
    "env":[{"name":"A","value":"1"}]}],"tolerations":[{"key":"k"}],"finalizers":["x"]}})json";

struct Target {
  KindPtr kind;
  client::Resource resource;
  json::Value object;
};

const std::array<Target, 2>& Targets() {
  static const std::array<Target, 2> targets = [] {
    const auto kind = [](std::string_view group, std::string_view plural) {
      return drachma::apiserver::MakeBuiltInKind(*api::FindResource(group, "v1", plural));
    };
    return std::array<Target, 2>{
        Target{kind("resource.k8s.io", "resourceclaims"),
               {"resource.k8s.io", "v1", "resourceclaims"},
               json::Read(kClaim).value()},
        Target{kind("", "pods"), {"", "v1", "pods"}, json::Read(kPod).value()}};
  }();
  return targets;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  constexpr std::array kPatches = {
      std::pair{client::PatchType::kJson, "application/json-patch+json"},
      std::pair{client::PatchType::kMerge, "application/merge-patch+json"},
      std::pair{client::PatchType::kStrategicMerge, "application/strategic-merge-patch+json"},
      std::pair{client::PatchType::kApply, "application/apply-patch+yaml"}};
  const auto& [type, content_type] = kPatches[data[0] % kPatches.size()];
  const Target& target = Targets()[data[0] / kPatches.size() % 2];
  ApiRequest request;
  request.call.verb = client::Verb::kPatch;
  request.call.resource = target.resource;
  request.call.ns = "n";
  request.call.name = std::string(target.object["metadata"]["name"].AsString());
  request.call.patch = type;
  request.call.field_manager = "fuzzer";
  request.call.force = (data[0] & 0x80) != 0;
  request.content_type = content_type;
  request.raw_body = std::string(reinterpret_cast<const char*>(data) + 1, size - 1);
  Result<drachma::apiserver::ParsedBody> patch = drachma::apiserver::ParsePatch(request);
  if (!patch) return 0;
  std::vector<std::string> warnings;
  const auto transform = drachma::apiserver::PatchTransform(
      *target.kind, request, std::move(*patch), [] { return Time{}; }, warnings);
  const Result<json::Value> patched = transform(target.object);
  if (patched) DRA_CHECK(patched->IsObject());
  return 0;
}
