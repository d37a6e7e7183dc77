#include "apiserver/admission_quota.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "apiserver/status.h"
#include "quota/match.h"
#include "quota/usage.h"

namespace drachma::apiserver {
namespace {

std::unexpected<Error> Refuse(const AdmissionRequest& request, const std::string& why) {
  std::string name = request.name;
  if (name.empty()) name = request.object.At({"metadata", "name"}).AsString();
  return std::unexpected(ForbiddenError(request.group, request.resource, name, why));
}

using quota::Amounts;
using quota::Names;

// The objects of the registry, for the rules of quotas.
class RegistryObjects final : public quota::Objects {
 public:
  explicit RegistryObjects(const ObjectReader& objects) : objects_(objects) {}
  [[nodiscard]] json::Value Get(std::string_view group, std::string_view plural,
                                std::string_view ns, std::string_view name) const override {
    return objects_.Get(group, plural, ns, name);
  }
  void ForEach(std::string_view group, std::string_view plural, std::string_view ns,
               const std::function<void(const json::Value&)>& visit) const override {
    objects_.ForEach(group, plural, ns, visit);
  }

 private:
  const ObjectReader& objects_;
};

std::string Listed(const Amounts& amounts, const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const auto amount = amounts.find(name);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name,
                        amount == amounts.end() ? "0" : amount->second.ToString());
  }
  return text;
}

// Whether a request can change what an object takes (upstream's Evaluator.Handles).
bool Handles(const AdmissionRequest& request) {
  const bool creates = request.operation == Operation::kCreate;
  const bool updates = request.operation == Operation::kUpdate;
  const bool core = request.group.empty();
  if (core && request.resource == "pods") {
    if (request.subresource == "resize") return updates;
    return request.subresource.empty() &&
           (creates || (updates && quota::IsTerminating(request.object) !=
                                       quota::IsTerminating(request.old_object)));
  }
  if (!request.subresource.empty()) return false;
  const bool measured =
      (core && (request.resource == "services" || request.resource == "persistentvolumeclaims")) ||
      (request.group == "resource.k8s.io" && request.resource == "resourceclaims");
  const bool ignored = request.resource == "events" && (core || request.group == "events.k8s.io");
  return !ignored && (creates || (updates && measured));
}

// What of `usage` the quota limits.
Amounts Masked(const Amounts& usage, const Amounts& hard) {
  Amounts masked;
  for (const auto& [resource, amount] : usage) {
    if (hard.contains(resource)) masked.emplace(resource, amount);
  }
  return masked;
}

// `usage` less `before`, nothing below zero; resources that do not grow are left out.
Amounts Growth(Amounts usage, const Amounts& before) {
  for (auto& [resource, amount] : usage) {
    if (const auto old = before.find(resource); old != before.end()) amount.Sub(old->second);
  }
  std::erase_if(usage, [](const auto& entry) { return entry.second.Sign() <= 0; });
  return usage;
}

// The limited resources that no usage is known of yet, all that matter for the object; empty when
// all are known.
std::string UnknownUsage(const json::Value& quota, const Names& restricted) {
  const json::Value& used = quota["status"]["used"];
  const bool known =
      std::ranges::all_of(restricted, [&](const std::string& name) { return used.Has(name); });
  return known ? std::string() : fmt::format("{}", fmt::join(restricted, ","));
}

// The quota with `wanted` added to its usage, or why it is not enough.
Result<json::Value> Charged(const AdmissionRequest& request, const json::Value& quota,
                            const Amounts& hard, const Amounts& wanted) {
  const Amounts used = quota::AmountsOf(quota["status"]["used"]);
  std::set<std::string> exceeded;
  json::Value updated = quota;
  for (const auto& [resource, amount] : wanted) {
    const auto present = used.find(resource);
    Quantity sum = present == used.end() ? Quantity() : present->second;
    sum.Add(amount);
    if (hard.at(resource) < sum) exceeded.insert(resource);
    updated.Edit("status").Edit("used").Set(resource, sum.ToString());
  }
  if (!exceeded.empty()) {
    return Refuse(request,
                  fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                              quota["metadata"]["name"].AsString(), Listed(wanted, exceeded),
                              Listed(used, exceeded), Listed(hard, exceeded)));
  }
  return updated;
}

}  // namespace

// A creation that will be refused because the object is there must not be charged.
bool ResourceQuota::IsThere(const AdmissionRequest& request) const {
  const KindPtr kind = core_.kinds().Find(request.group, request.resource);
  return kind != nullptr &&
         core_.store().Head(
             kind->KeyOf(request.ns, request.object["metadata"]["name"].AsString())) != nullptr;
}

Status ResourceQuota::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (request.ns.empty() || !Handles(request)) return {};
  const bool creates = request.operation == Operation::kCreate;
  store::Store& store = core_.store();
  const Result<store::Page> page =
      store.List(fmt::format("/registry/resourcequotas/{}/", request.ns));
  if (!page || page->records.empty()) return {};
  const RegistryObjects registry(objects);
  const auto usage_of = [&](const json::Value& object) {
    return quota::UsageOf(request.group, request.resource, object, registry, core_.Now());
  };
  const auto in_scopes = [&](const json::Value& quota, const json::Value& object) {
    return quota::InScopes(quota, request.group, request.resource, object);
  };
  const Amounts usage = usage_of(request.object);
  const Amounts growth = Growth(usage, creates ? Amounts{} : usage_of(request.old_object));
  std::vector<std::pair<store::RecordPtr, json::Value>> changes;
  for (const store::RecordPtr& durable : page->records) {
    const store::RecordPtr record = store.Head(durable->key);
    if (record == nullptr) continue;
    const json::Value quota = record->Object();
    const json::Value& limits = quota["status"]["hard"];
    const Names restricted =
        quota::MatchingResources(request.group, request.resource, limits, registry);
    if (restricted.empty() || !in_scopes(quota, request.object)) continue;
    const std::string_view name = quota["metadata"]["name"].AsString();
    const bool pod = request.group.empty() && request.resource == "pods";
    if (const std::string missing = pod ? quota::MissingRequests(request.object, restricted) : "";
        !missing.empty()) {
      return Refuse(request, fmt::format("failed quota: {}: {}", name, missing));
    }
    if (const std::string unknown = UnknownUsage(quota, restricted); !unknown.empty()) {
      return Refuse(request,
                    fmt::format("status unknown for quota: {}, resources: {}", name, unknown));
    }
    const bool counted = creates || in_scopes(quota, request.old_object);
    const Amounts hard = quota::AmountsOf(limits);
    const Amounts wanted = Masked(counted ? growth : Growth(usage, {}), hard);
    if (wanted.empty()) continue;
    DRA_ASSIGN(json::Value updated, Charged(request, quota, hard, wanted));
    changes.emplace_back(record, std::move(updated));
  }
  if (request.dry_run || (creates && IsThere(request))) return {};
  // These writes stand before the object's in the store's order: should the disk fail, all fail.
  for (auto& [record, updated] : changes) {
    store.Put(record->key, std::move(updated), record->revision,
              [](const Result<store::RecordPtr>&) {});
  }
  return {};
}

}  // namespace drachma::apiserver
