#include "apiserver/admission_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "apiserver/admission_refusal.h"
#include "num/quantity.h"

namespace drachma::apiserver {
namespace {

using json::Member;
using json::Value;

constexpr std::string_view kAnnotation = "kubernetes.io/limit-ranger";
constexpr std::int64_t kMilliMax = INT64_MAX / 1000;  // what still counts in thousandths

using Amounts = std::map<std::string, Quantity, std::less<>>;

Amounts AmountsOf(const Value& list) {
  Amounts amounts;
  for (const Member& amount : list.Members()) {
    if (auto quantity = Quantity::Parse(amount.value.AsString())) {
      amounts.emplace(amount.key(), *quantity);
    }
  }
  return amounts;
}

// Containers cannot be added to pods that are there, so updates are of no interest, resizes apart.
bool IsLimited(const AdmissionRequest& request) {
  if (!request.group.empty() || request.old_object["metadata"].Has("deletionTimestamp")) {
    return false;
  }
  const bool creates = request.operation == Operation::kCreate;
  const bool updates = request.operation == Operation::kUpdate;
  if (request.resource == "pods") {
    if (request.subresource == "resize") return updates;
    return request.subresource.empty() && creates;
  }
  return request.resource == "persistentvolumeclaims" && request.subresource.empty() &&
         (creates || updates);
}

// --- Defaults

// Puts what `list` ("limits" or "requests") of a container lacks; the names of what it put.
std::vector<std::string> FillIn(Value& container, std::string_view list, const Amounts& defaults) {
  std::vector<std::string> put;
  for (const auto& [name, amount] : defaults) {
    if (container["resources"][list].Has(name)) continue;
    container.Edit("resources").Edit(list).Set(name, amount.ToString());
    put.push_back(name);
  }
  return put;
}

void ApplyDefaults(const Value& range, Value& pod) {
  Amounts requests;
  Amounts limits;
  for (const Value& item : range["spec"]["limits"].Items()) {
    if (item["type"].AsString() != "Container") continue;
    for (const auto& [name, amount] : AmountsOf(item["defaultRequest"])) requests[name] = amount;
    for (const auto& [name, amount] : AmountsOf(item["default"])) limits[name] = amount;
  }
  if (requests.empty() && limits.empty()) return;
  std::vector<std::string> words;
  struct Row {
    std::string_view list;
    std::string_view noun;
  };
  for (const Row& row : {Row{"containers", "container"}, Row{"initContainers", "init container"}}) {
    for (std::size_t i = 0; i < pod["spec"][row.list].size(); ++i) {
      Value& container = pod.Edit("spec").Edit(row.list).EditItem(i);
      const std::string_view name = container["name"].AsString();
      const auto set_limits = FillIn(container, "limits", limits);
      const auto set_requests = FillIn(container, "requests", requests);
      if (!set_requests.empty()) {
        words.push_back(
            fmt::format("{} request for {} {}", fmt::join(set_requests, ", "), row.noun, name));
      }
      if (!set_limits.empty()) {
        words.push_back(
            fmt::format("{} limit for {} {}", fmt::join(set_limits, ", "), row.noun, name));
      }
    }
  }
  if (words.empty()) return;
  pod.Edit("metadata")
      .Edit("annotations")
      .Set(kAnnotation, fmt::format("LimitRanger plugin set: {}", fmt::join(words, "; ")));
}

// --- Limits

// What a container, a pod or a claim asks for.
struct Wanted {
  Amounts requests;
  Amounts limits;
};

const Quantity* Find(const Amounts& amounts, std::string_view name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? nullptr : &found->second;
}

// Amounts as numbers, in thousandths where all of them fit.
struct Numbers {
  std::int64_t request = 0;
  std::int64_t limit = 0;
  std::int64_t bound = 0;
};
Numbers NumbersOf(const Quantity* request, const Quantity* limit, const Quantity& bound) {
  const Quantity none;
  const Quantity& asked = request == nullptr ? none : *request;
  const Quantity& most = limit == nullptr ? none : *limit;
  if (asked.Value() <= kMilliMax && most.Value() <= kMilliMax && bound.Value() <= kMilliMax) {
    return {asked.MilliValue(), most.MilliValue(), bound.MilliValue()};
  }
  return {asked.Value(), most.Value(), bound.Value()};
}

// One bound of one resource; empty when it is kept.
using Check = std::string (*)(std::string_view type, const std::string& name, const Quantity& bound,
                              const Wanted& wanted);

std::string CheckMin(std::string_view type, const std::string& name, const Quantity& bound,
                     const Wanted& wanted) {
  const Quantity* request = Find(wanted.requests, name);
  const Quantity* limit = Find(wanted.limits, name);
  const Numbers numbers = NumbersOf(request, limit, bound);
  const std::string rule =
      fmt::format("minimum {} usage per {} is {}", name, type, bound.ToString());
  if (request == nullptr) return rule + ".  No request is specified";
  if (numbers.request < numbers.bound) {
    return fmt::format("{}, but request is {}", rule, request->ToString());
  }
  if (limit != nullptr && numbers.limit < numbers.bound) {
    return fmt::format("{}, but limit is {}", rule, limit->ToString());
  }
  return {};
}

std::string CheckMax(std::string_view type, const std::string& name, const Quantity& bound,
                     const Wanted& wanted) {
  const Quantity* request = Find(wanted.requests, name);
  const Quantity* limit = Find(wanted.limits, name);
  const Numbers numbers = NumbersOf(request, limit, bound);
  const std::string rule =
      fmt::format("maximum {} usage per {} is {}", name, type, bound.ToString());
  if (limit == nullptr) return rule + ".  No limit is specified";
  if (numbers.limit > numbers.bound) {
    return fmt::format("{}, but limit is {}", rule, limit->ToString());
  }
  if (request != nullptr && numbers.request > numbers.bound) {
    return fmt::format("{}, but request is {}", rule, request->ToString());
  }
  return {};
}

// Volume claims have requests only.
std::string CheckMaxRequest(std::string_view type, const std::string& name, const Quantity& bound,
                            const Wanted& wanted) {
  const Quantity* request = Find(wanted.requests, name);
  const Numbers numbers = NumbersOf(request, nullptr, bound);
  const std::string rule =
      fmt::format("maximum {} usage per {} is {}", name, type, bound.ToString());
  if (request == nullptr) return rule + ".  No request is specified";
  if (numbers.request > numbers.bound) {
    return fmt::format("{}, but request is {}", rule, request->ToString());
  }
  return {};
}

std::string CheckRatio(std::string_view type, const std::string& name, const Quantity& bound,
                       const Wanted& wanted) {
  const Quantity* request = Find(wanted.requests, name);
  const Quantity* limit = Find(wanted.limits, name);
  const Numbers numbers = NumbersOf(request, limit, bound);
  const std::string rule =
      fmt::format("{} max limit to request ratio per {} is {}", name, type, bound.ToString());
  if (request == nullptr || numbers.request == 0) {
    return rule + ", but no request is specified or request is 0";
  }
  if (limit == nullptr || numbers.limit == 0) {
    return rule + ", but no limit is specified or limit is 0";
  }
  const double ratio = static_cast<double>(numbers.limit) / static_cast<double>(numbers.request);
  const bool milli = bound.Value() <= kMilliMax;
  const double compared = milli ? ratio * 1000 : ratio;
  const auto most = static_cast<double>(milli ? bound.MilliValue() : bound.Value());
  if (compared > most) return fmt::format("{}, but provided ratio is {:f}", rule, ratio);
  return {};
}

struct Bound {
  std::string_view field;
  Check check;
};
constexpr Bound kComputeBounds[] = {
    {"min", CheckMin}, {"max", CheckMax}, {"maxLimitRequestRatio", CheckRatio}};
constexpr Bound kClaimBounds[] = {{"min", CheckMin}, {"max", CheckMaxRequest}};

void CheckBounds(const Value& item, std::span<const Bound> bounds, const Wanted& wanted,
                 std::vector<std::string>& faults) {
  const std::string_view type = item["type"].AsString();
  for (const Bound& bound : bounds) {
    for (const auto& [name, amount] : AmountsOf(item[bound.field])) {
      std::string fault = bound.check(type, name, amount, wanted);
      if (!fault.empty()) faults.push_back(std::move(fault));
    }
  }
}

void Add(Amounts& to, const Amounts& more) {
  for (const auto& [name, amount] : more) {
    const auto [at, added] = to.emplace(name, amount);
    if (!added) at->second.Add(amount);
  }
}
void Raise(Amounts& to, const Amounts& other) {
  for (const auto& [name, amount] : other) {
    const auto [at, added] = to.emplace(name, amount);
    if (!added && at->second < amount) at->second = amount;
  }
}

// What the pod takes of `list`: containers together, init containers one by one beside the
// sidecars before them; what the pod says itself of CPU and memory counts instead.
Amounts PodAmounts(const Value& pod, std::string_view list) {
  Amounts total;
  for (const Value& container : pod["spec"]["containers"].Items()) {
    Add(total, AmountsOf(container["resources"][list]));
  }
  Amounts sidecars;
  Amounts highest;
  for (const Value& container : pod["spec"]["initContainers"].Items()) {
    Amounts own = AmountsOf(container["resources"][list]);
    if (container["restartPolicy"].AsString() == "Always") {
      Add(total, own);
      Add(sidecars, own);
      own = sidecars;
    } else {
      Add(own, sidecars);
    }
    Raise(highest, own);
  }
  Raise(total, highest);
  const Amounts of_pod = AmountsOf(pod["spec"]["resources"][list]);
  for (const std::string_view name : {"cpu", "memory"}) {
    if (const Quantity* own = Find(of_pod, name)) total[std::string(name)] = *own;
  }
  return total;
}

void CheckPod(const Value& range, const Value& pod, std::vector<std::string>& faults) {
  for (const Value& item : range["spec"]["limits"].Items()) {
    const std::string_view type = item["type"].AsString();
    if (type == "Container") {
      for (const char* list : {"containers", "initContainers"}) {
        for (const Value& container : pod["spec"][list].Items()) {
          const Value& resources = container["resources"];
          CheckBounds(item, kComputeBounds,
                      {AmountsOf(resources["requests"]), AmountsOf(resources["limits"])}, faults);
        }
      }
    } else if (type == "Pod") {
      CheckBounds(item, kComputeBounds, {PodAmounts(pod, "requests"), PodAmounts(pod, "limits")},
                  faults);
    }
  }
}

void CheckClaim(const Value& range, const Value& claim, std::vector<std::string>& faults) {
  const Wanted wanted{.requests = AmountsOf(claim["spec"]["resources"]["requests"]), .limits = {}};
  for (const Value& item : range["spec"]["limits"].Items()) {
    if (item["type"].AsString() != "PersistentVolumeClaim") continue;
    CheckBounds(item, kClaimBounds, wanted, faults);
  }
}

}  // namespace

Status LimitRanger::Admit(AdmissionRequest& request, const ObjectReader& objects) {
  if (!IsLimited(request) || request.resource != "pods") return {};
  objects.ForEach("", "limitranges", request.ns,
                  [&](const Value& range) { ApplyDefaults(range, request.object); });
  return {};
}

Status LimitRanger::Validate(AdmissionRequest& request, const ObjectReader& objects) {
  if (!IsLimited(request)) return {};
  std::vector<std::string> faults;
  objects.ForEach("", "limitranges", request.ns, [&](const Value& range) {
    if (!faults.empty()) return;  // the first range that is broken is the answer
    if (request.resource == "pods") {
      CheckPod(range, request.object, faults);
    } else {
      CheckClaim(range, request.object, faults);
    }
  });
  if (faults.empty()) return {};
  return std::unexpected(AdmissionRefusal(request, AggregateText(faults)));
}

}  // namespace drachma::apiserver
