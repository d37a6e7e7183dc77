#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocator.h"
#include "json/json.h"

// Short ways to make devices and claims in tests and benchmarks.
namespace drachma::allocator::testing {

inline json::Value Json(const std::string& text) { return json::Read(text).value(); }

// A slice of `node` (empty: all nodes) whose devices are given as JSON.
inline json::Value SliceOf(const std::string& name, const std::string& node,
                           const std::string& pool, const std::string& devices,
                           int slices_in_pool = 1, int generation = 1) {
  const std::string scope = node.empty() ? R"("allNodes":true)" : R"("nodeName":")" + node + "\"";
  return Json(R"({"metadata":{"name":")" + name + R"("},"spec":{"driver":"gpu.example.com",)" +
              R"("pool":{"name":")" + pool + R"(","generation":)" + std::to_string(generation) +
              R"(,"resourceSliceCount":)" + std::to_string(slices_in_pool) + "}," + scope + "," +
              devices + "}}");
}

// `count` plain GPUs with an index and a group of `per_group`.
inline std::string Gpus(int count, int per_group = 1'000'000) {
  std::string out = "\"devices\":[";
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += ',';
    out += R"({"name":"gpu-)" + std::to_string(i) + R"(","attributes":{"index":{"int":)" +
           std::to_string(i) + R"(},"group":{"string":"g)" + std::to_string(i / per_group) +
           R"("},"model":{"string":"H100"}},"capacity":{"memory":{"value":"80Gi"}}})";
  }
  return out + "]";
}

inline json::Value ClassOf(const std::string& name = "gpu",
                           const std::string& expression = "device.driver == 'gpu.example.com'") {
  json::Value out = Json(R"({"metadata":{"name":")" + name + R"("},"spec":{"selectors":[{}]}})");
  out.Edit("spec")
      .Edit("selectors")
      .EditItem(0)
      .Set("cel", json::Value::Object({{"expression", expression}}));
  return out;
}

// A claim from the JSON of its spec.devices.
inline api::ResourceClaim ClaimOf(const std::string& name, const std::string& devices) {
  return api::ResourceClaim::FromJson(Json(R"({"metadata":{"name":")" + name +
                                           R"(","namespace":"ns","uid":")" + name +
                                           R"("},"spec":{"devices":)" + devices + "}}"))
      .value();
}

// One request for `count` devices of class "gpu".
inline std::string Request(const std::string& name, int count, const std::string& more = {}) {
  return R"({"name":")" + name +
         R"(","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":)" +
         std::to_string(count) + more + "}}";
}

// `requests` requests for one device each.
inline std::string Requests(int requests, const std::string& more = {}) {
  std::string out = "{\"requests\":[";
  for (int i = 0; i < requests; ++i) {
    if (i > 0) out += ',';
    out += Request("r" + std::to_string(i), 1);
  }
  return out + "]" + more + "}";
}

// The devices of a fit as "gpu-0 gpu-1", or what it was instead.
inline std::string Text(const Outcome& outcome) {
  if (const auto* failure = std::get_if<Failure>(&outcome.value)) {
    return "failure: " + failure->message;
  }
  if (!outcome.fits()) return "misfit";
  std::string out;
  for (const api::AllocationResult& result : std::get<Fit>(outcome.value).results) {
    for (const api::DeviceResult& device : result.results) {
      if (!out.empty()) out += ' ';
      out += device.device;
    }
  }
  return out;
}

// One node "n" with one slice.
struct OneNode {
  explicit OneNode(const std::string& devices, Options options = {}) : inventory(options) {
    static_cast<void>(inventory.SetClass(ClassOf()));
    static_cast<void>(inventory.SetSlice(SliceOf("slice", "n", "pool", devices)));
    node = inventory.SetNode({.name = "n", .labels = {}, .declared_features = {}});
  }
  Outcome Run(const std::string& devices, const Overlay& overlay = {}) {
    const Problem problem(inventory, {ClaimOf("claim", devices)});
    return Allocate(problem, node, overlay, random);
  }

  Inventory inventory;
  NodeIndex node = 0;
  Random random{1};
};

}  // namespace drachma::allocator::testing
