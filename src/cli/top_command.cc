#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "cli/arguments.h"
#include "cli/session.h"
#include "client/objects.h"
#include "num/quantity.h"

namespace drachma::cli {
namespace {

using json::Value;
namespace resources = client::resources;

// (driver, pool, device)
using DeviceKey = std::tuple<std::string, std::string, std::string>;

// Devices of one kind by state. Every device is in exactly one state.
struct Counts {
  int allocated = 0;
  int tainted = 0;  // free, but a taint keeps new claims away
  int blocked = 0;  // free, but what it is made of is in use by another part of the same GPU
  int free = 0;

  [[nodiscard]] int total() const { return allocated + tainted + blocked + free; }
};

std::string AttributeOf(const Value& device, std::string_view name) {
  return std::string(device["attributes"][name]["string"].AsString());
}

// "NVIDIA H100 80GB HBM3", with the profile of a part.
std::string ModelOf(const Value& device) {
  std::string model = AttributeOf(device, "productName");
  if (model.empty()) model = AttributeOf(device, "model");
  if (model.empty()) model = AttributeOf(device, "type");
  const std::string profile = AttributeOf(device, "profile");
  if (!profile.empty()) model += " " + profile;
  return model.empty() ? "-" : model;
}

bool Agrees(const Value& selector, std::string_view field, std::string_view value) {
  const Value* wanted = selector.Find(field);
  return wanted == nullptr || wanted->IsNull() || wanted->AsString() == value;
}

bool KeepsAway(const Value& taint) {
  const std::string_view effect = taint["effect"].AsString();
  return effect == "NoSchedule" || effect == "NoExecute";
}

class Census {
 public:
  Census(const std::vector<Value>& slices, const std::vector<Value>& claims,
         const std::vector<Value>& rules)
      : rules_(rules) {
    for (const Value& claim : claims) {
      for (const Value& result : claim.At({"status", "allocation", "devices", "results"}).Items()) {
        if (result["adminAccess"].AsBool()) continue;
        allocated_.emplace(result["driver"].AsString(), result["pool"].AsString(),
                           result["device"].AsString());
      }
    }
    // Only slices of a pool's newest generation count.
    for (const Value& slice : slices) {
      auto& newest = newest_[PoolOf(slice)];
      newest = std::max(newest, slice["spec"]["pool"]["generation"].AsInt());
    }
    for (const Value& slice : slices) {
      if (IsCurrent(slice)) AddCounters(slice);
    }
    for (const Value& slice : slices) {
      if (IsCurrent(slice)) UseCounters(slice);
    }
    for (const Value& slice : slices) {
      if (IsCurrent(slice)) Count(slice);
    }
  }

  // By driver and model.
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, Counts>& counts() const {
    return counts_;
  }

 private:
  using Pool = std::pair<std::string, std::string>;
  static Pool PoolOf(const Value& slice) {
    return {std::string(slice["spec"]["driver"].AsString()),
            std::string(slice["spec"]["pool"]["name"].AsString())};
  }
  [[nodiscard]] bool IsCurrent(const Value& slice) const {
    return slice["spec"]["pool"]["generation"].AsInt() == newest_.at(PoolOf(slice));
  }
  static DeviceKey KeyOf(const Value& slice, const Value& device) {
    const auto [driver, pool] = PoolOf(slice);
    return {driver, pool, std::string(device["name"].AsString())};
  }
  static Quantity AmountOf(const Value& value) {
    const std::string text =
        value.IsInt() ? std::to_string(value.AsInt()) : std::string(value.AsString());
    const Result<Quantity> quantity = Quantity::Parse(text);
    return quantity ? *quantity : Quantity();
  }
  Quantity& Counter(const Value& slice, std::string_view set, std::string_view counter) {
    return counters_[{PoolOf(slice), std::string(set), std::string(counter)}];
  }

  void AddCounters(const Value& slice) {
    for (const Value& set : slice["spec"]["sharedCounters"].Items()) {
      for (const json::Member& counter : set["counters"].Members()) {
        Counter(slice, set["name"].AsString(), counter.key()) = AmountOf(counter.value["value"]);
      }
    }
  }
  void UseCounters(const Value& slice) {
    for (const Value& device : slice["spec"]["devices"].Items()) {
      if (!allocated_.contains(KeyOf(slice, device))) continue;
      for (const Value& use : device["consumesCounters"].Items()) {
        for (const json::Member& counter : use["counters"].Members()) {
          Counter(slice, use["counterSet"].AsString(), counter.key())
              .Sub(AmountOf(counter.value["value"]));
        }
      }
    }
  }
  bool IsBlocked(const Value& slice, const Value& device) {
    for (const Value& use : device["consumesCounters"].Items()) {
      for (const json::Member& counter : use["counters"].Members()) {
        const Quantity& left = Counter(slice, use["counterSet"].AsString(), counter.key());
        if (left < AmountOf(counter.value["value"])) return true;
      }
    }
    return false;
  }
  [[nodiscard]] bool IsTainted(const Value& slice, const Value& device) const {
    if (std::ranges::any_of(device["taints"].Items(), KeepsAway)) return true;
    return std::ranges::any_of(rules_, [&](const Value& rule) {
      const Value& selector = rule["spec"]["deviceSelector"];
      return selector.IsObject() && KeepsAway(rule["spec"]["taint"]) &&
             Agrees(selector, "driver", slice["spec"]["driver"].AsString()) &&
             Agrees(selector, "pool", slice["spec"]["pool"]["name"].AsString()) &&
             Agrees(selector, "device", device["name"].AsString());
    });
  }
  void Count(const Value& slice) {
    for (const Value& device : slice["spec"]["devices"].Items()) {
      Counts& counts = counts_[{std::string(slice["spec"]["driver"].AsString()), ModelOf(device)}];
      if (allocated_.contains(KeyOf(slice, device))) {
        ++counts.allocated;
      } else if (IsTainted(slice, device)) {
        ++counts.tainted;
      } else if (IsBlocked(slice, device)) {
        ++counts.blocked;
      } else {
        ++counts.free;
      }
    }
  }

  const std::vector<Value>& rules_;
  std::set<DeviceKey> allocated_;
  std::map<Pool, std::int64_t> newest_;
  std::map<std::tuple<Pool, std::string, std::string>, Quantity> counters_;
  std::map<std::pair<std::string, std::string>, Counts> counts_;
};

}  // namespace

int RunTop(const TopArguments& arguments) {
  Result<std::unique_ptr<Session>> session = Session::Open(arguments.kubeconfig);
  if (!session) return PrintError(session.error());
  const auto slices = (*session)->ListAll(resources::kResourceSlices);
  if (!slices) return PrintError(slices.error());
  const auto claims = (*session)->ListAll(resources::kResourceClaims);
  if (!claims) return PrintError(claims.error());
  const auto rules = (*session)->ListAll(resources::kDeviceTaintRules);
  if (!rules) return PrintError(rules.error());
  const Census census(*slices, *claims, *rules);
  Table table({"DRIVER", "MODEL", "TOTAL", "ALLOCATED", "TAINTED", "BLOCKED", "FREE"});
  Value rows = Value::Array();
  for (const auto& [kind, counts] : census.counts()) {
    table.Add({kind.first, kind.second, std::to_string(counts.total()),
               std::to_string(counts.allocated), std::to_string(counts.tainted),
               std::to_string(counts.blocked), std::to_string(counts.free)});
    rows.Append(Value::Object({{"driver", kind.first},
                               {"model", kind.second},
                               {"total", counts.total()},
                               {"allocated", counts.allocated},
                               {"tainted", counts.tainted},
                               {"blocked", counts.blocked},
                               {"free", counts.free}}));
  }
  if (arguments.output != OutputFormat::kTable) {
    PrintValue(Value::Object({{"devices", std::move(rows)}}), arguments.output);
  } else {
    Print(table.empty() ? "No devices.\n" : table.ToText());
  }
  return kFine;
}

}  // namespace drachma::cli
