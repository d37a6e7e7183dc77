#include "apiserver/admission_quota.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

std::unexpected<Error> Refuse(const AdmissionRequest& request, const std::string& why) {
  std::string name = request.name;
  if (name.empty()) name = request.object.At({"metadata", "name"}).AsString();
  return std::unexpected(ForbiddenError(request.group, request.resource, name, why));
}

Usage AmountsOf(const json::Value& list) {
  Usage amounts;
  for (const json::Member& member : list.Members()) {
    if (Result<Quantity> amount = Quantity::Parse(member.value.AsString())) {
      amounts.emplace(std::string(member.key()), std::move(*amount));
    }
  }
  return amounts;
}

bool IsBestEffort(const json::Value& pod) {
  return pod["status"]["qosClass"].AsString() == "BestEffort";
}

bool MatchesPriorityClass(const json::Value& pod, const json::Value& selector) {
  const std::string_view name = pod["spec"]["priorityClassName"].AsString();
  const std::string_view op = selector["operator"].AsString();
  if (op == "Exists") return !name.empty();
  if (op == "DoesNotExist") return name.empty();
  const bool listed = std::ranges::any_of(selector["values"].Items(),
                                          [&](const json::Value& value) { return value == name; });
  return op == "In" ? listed : !listed;
}

bool MatchesScope(const json::Value& pod, const json::Value& selector) {
  const std::string_view scope = selector["scopeName"].AsString();
  const bool terminating = pod["spec"]["activeDeadlineSeconds"].IsInt();
  if (scope == "Terminating") return terminating;
  if (scope == "NotTerminating") return !terminating;
  if (scope == "BestEffort") return IsBestEffort(pod);
  if (scope == "NotBestEffort") return !IsBestEffort(pod);
  return scope == "PriorityClass" && MatchesPriorityClass(pod, selector);
}

// Scopes are about pods: a quota with any counts nothing else.
bool MatchesScopes(const json::Value& quota, const AdmissionRequest& request,
                   const json::Value& object) {
  const bool is_pod = request.group.empty() && request.resource == "pods";
  for (const json::Value& scope : quota["spec"]["scopes"].Items()) {
    const json::Value selector =
        json::Value::Object({{"scopeName", scope}, {"operator", "Exists"}});
    if (!is_pod || !MatchesScope(object, selector)) return false;
  }
  for (const json::Value& selector :
       quota.At({"spec", "scopeSelector", "matchExpressions"}).Items()) {
    if (!is_pod || !MatchesScope(object, selector)) return false;
  }
  return true;
}

std::string Listed(const Usage& amounts, const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const auto amount = amounts.find(name);
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", name,
                        amount == amounts.end() ? "0" : amount->second.ToString());
  }
  return text;
}

// Containers must say what they need of a compute resource that is limited.
std::string MissingRequests(const AdmissionRequest& request, const Usage& hard) {
  if (!request.group.empty() || request.resource != "pods" || !request.subresource.empty()) {
    return {};
  }
  std::string missing;
  for (const char* name :
       {"cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"}) {
    if (!hard.contains(name)) continue;
    const std::string_view full(name);
    const std::size_t dot = full.find('.');
    const std::string_view resource = dot == std::string_view::npos ? full : full.substr(dot + 1);
    const char* field = full.starts_with("limits.") ? "limits" : "requests";
    std::string containers;
    for (const char* list : {"containers", "initContainers"}) {
      for (const json::Value& container : request.object["spec"][list].Items()) {
        if (container["resources"][field].Has(resource)) continue;
        containers +=
            fmt::format("{}{}", containers.empty() ? "" : ",", container["name"].AsString());
      }
    }
    if (!containers.empty()) {
      missing += fmt::format("{}{} for: {}", missing.empty() ? "" : "; ", name, containers);
    }
  }
  return missing.empty() ? missing : "must specify " + missing;
}

// What of `usage` the quota limits.
Usage Masked(const Usage& usage, const Usage& hard) {
  Usage masked;
  for (const auto& [resource, amount] : usage) {
    if (hard.contains(resource)) masked.emplace(resource, amount);
  }
  return masked;
}

// `usage` less `before`, nothing below zero; resources that do not grow are left out.
Usage Growth(Usage usage, const Usage& before) {
  for (auto& [resource, amount] : usage) {
    if (const auto old = before.find(resource); old != before.end()) amount.Sub(old->second);
  }
  std::erase_if(usage, [](const auto& entry) { return entry.second.Sign() <= 0; });
  return usage;
}

// The quota with `wanted` added to its usage, or why it is not enough.
Result<json::Value> Charged(const AdmissionRequest& request, const json::Value& quota,
                            const Usage& hard, const Usage& wanted) {
  const Usage used = AmountsOf(quota.At({"status", "used"}));
  const std::string_view name = quota.At({"metadata", "name"}).AsString();
  std::set<std::string> exceeded;
  std::string unknown;
  json::Value updated = quota;
  for (const auto& [resource, amount] : wanted) {
    const auto present = used.find(resource);
    if (present == used.end()) {
      unknown += fmt::format("{}{}", unknown.empty() ? "" : ",", resource);
      continue;
    }
    Quantity sum = present->second;
    sum.Add(amount);
    if (hard.at(resource) < sum) exceeded.insert(resource);
    updated.Edit("status").Edit("used").Set(resource, sum.ToString());
  }
  if (!unknown.empty()) {
    return Refuse(request,
                  fmt::format("status unknown for quota: {}, resources: {}", name, unknown));
  }
  if (!exceeded.empty()) {
    return Refuse(request, fmt::format("exceeded quota: {}, requested: {}, used: {}, limited: {}",
                                       name, Listed(wanted, exceeded), Listed(used, exceeded),
                                       Listed(hard, exceeded)));
  }
  return updated;
}

}  // namespace

Status ResourceQuota::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  const bool creates = request.operation == Operation::kCreate;
  if (request.ns.empty() || !request.subresource.empty() ||
      (!creates && request.operation != Operation::kUpdate)) {
    return {};
  }
  store::Store& store = core_.store();
  const Result<store::Page> page =
      store.List(fmt::format("/registry/resourcequotas/{}/", request.ns));
  if (!page || page->records.empty()) return {};
  const KindPtr kind = core_.kinds().Find(request.group, request.resource);
  if (creates && kind != nullptr &&
      store.Head(kind->KeyOf(request.ns, request.object.At({"metadata", "name"}).AsString())) !=
          nullptr) {
    return {};  // it will be refused for being there already and must not be charged
  }
  const Usage usage = UsageOf(request.group, request.resource, request.object, objects);
  const Usage before =
      creates ? Usage{} : UsageOf(request.group, request.resource, request.old_object, objects);
  const Usage growth = Growth(usage, before);
  std::vector<std::pair<store::RecordPtr, json::Value>> changes;
  for (const store::RecordPtr& durable : page->records) {
    const store::RecordPtr record = store.Head(durable->key);
    if (record == nullptr || !MatchesScopes(record->Object(), request, request.object)) continue;
    const Usage hard = AmountsOf(record->Object().At({"status", "hard"}));
    if (Masked(usage, hard).empty()) continue;
    if (const std::string missing = creates ? MissingRequests(request, hard) : "";
        !missing.empty()) {
      return Refuse(request,
                    fmt::format("failed quota: {}: {}",
                                record->Object().At({"metadata", "name"}).AsString(), missing));
    }
    const bool counted = creates || MatchesScopes(record->Object(), request, request.old_object);
    const Usage wanted = Masked(counted ? growth : Growth(usage, {}), hard);
    if (wanted.empty()) continue;
    DRA_ASSIGN(json::Value updated, Charged(request, record->Object(), hard, wanted));
    changes.emplace_back(record, std::move(updated));
  }
  if (request.dry_run) return {};
  // These writes stand before the object's in the store's order: should the disk fail, all fail.
  for (auto& [record, updated] : changes) {
    store.Put(record->key, std::move(updated), record->revision,
              [](const Result<store::RecordPtr>&) {});
  }
  return {};
}

}  // namespace drachma::apiserver
