#pragma once

#include <string>
#include <vector>

#include "dra_v1.grpc.pb.h"
#include "dra_v1beta1.grpc.pb.h"
#include "node/dra_plugin.h"

namespace drachma::rpc {

// The versions of a kubelet's calls differ in their C++ types only. Internal to the room.
#define DRA_API(Name, ns, service)                                                                \
  struct Name {                                                                                   \
    static constexpr const char* kService = service;                                              \
    using Plugin = ::k8s::io::kubelet::pkg::apis::dra::ns::DRAPlugin;                             \
    using PrepareRequest = ::k8s::io::kubelet::pkg::apis::dra::ns::NodePrepareResourcesRequest;   \
    using PrepareResponse = ::k8s::io::kubelet::pkg::apis::dra::ns::NodePrepareResourcesResponse; \
    using UnprepareRequest =                                                                      \
        ::k8s::io::kubelet::pkg::apis::dra::ns::NodeUnprepareResourcesRequest;                    \
    using UnprepareResponse =                                                                     \
        ::k8s::io::kubelet::pkg::apis::dra::ns::NodeUnprepareResourcesResponse;                   \
  }
DRA_API(V1, v1, "v1.DRAPlugin");
DRA_API(V1beta1, v1beta1, "v1beta1.DRAPlugin");
#undef DRA_API

template <typename Request>
std::vector<node::ClaimRef> ClaimsOf(const Request& request) {
  std::vector<node::ClaimRef> claims;
  for (const auto& claim : request.claims()) {
    claims.push_back({.ns = claim.namespace_(), .name = claim.name(), .uid = claim.uid()});
  }
  return claims;
}

template <typename Request>
void AddClaim(const node::ClaimRef& claim, Request& request) {
  auto& added = *request.add_claims();
  added.set_namespace_(claim.ns);
  added.set_name(claim.name);
  added.set_uid(claim.uid);
}

template <typename Device>
void WriteDevice(const node::PreparedDevice& from, Device& to) {
  for (const std::string& request : from.requests) to.add_request_names(request);
  to.set_pool_name(from.pool);
  to.set_device_name(from.device);
  for (const std::string& id : from.cdi_device_ids) to.add_cdi_device_ids(id);
  if constexpr (requires { to.set_share_id(from.share_id); }) {
    if (!from.share_id.empty()) to.set_share_id(from.share_id);
  }
}

template <typename Device>
node::PreparedDevice ReadDevice(const Device& from) {
  node::PreparedDevice device{
      .requests = {from.request_names().begin(), from.request_names().end()},
      .pool = from.pool_name(),
      .device = from.device_name(),
      .cdi_device_ids = {from.cdi_device_ids().begin(), from.cdi_device_ids().end()}};
  if constexpr (requires { from.share_id(); }) device.share_id = from.share_id();
  return device;
}

template <typename Response>
void WriteAnswer(const node::PrepareAnswer& answer, Response& response) {
  for (const auto& [uid, result] : answer) {
    auto& claim = (*response.mutable_claims())[uid];
    if (!result) {
      claim.set_error(result.error().message);
      continue;
    }
    for (const node::PreparedDevice& device : *result) WriteDevice(device, *claim.add_devices());
  }
}

template <typename Response>
void WriteAnswer(const node::UnprepareAnswer& answer, Response& response) {
  for (const auto& [uid, status] : answer) {
    auto& claim = (*response.mutable_claims())[uid];
    if (!status) claim.set_error(status.error().message);
  }
}

}  // namespace drachma::rpc
