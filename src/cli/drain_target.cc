#include "cli/drain_target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "base/nearest.h"
#include "client/informer.h"
#include "client/objects.h"

namespace drachma::cli {
namespace {

using json::Value;

// So many names are listed when none is near.
constexpr std::size_t kNamesShown = 8;
// The readable part of a rule's name; a name has at most 253 characters.
constexpr std::size_t kReadableMax = 200;
constexpr std::string_view kManagedBy = "app.kubernetes.io/managed-by";
constexpr std::string_view kManager = "drachma-drain";

bool HasDevices(const DrainTarget& target, std::span<const Value> slices) {
  return std::ranges::any_of(slices, [&](const Value& slice) {
    const Value& spec = slice["spec"];
    return spec["driver"].AsString() == target.driver &&
           spec["pool"]["name"].AsString() == target.pool &&
           (target.device.empty() ||
            std::ranges::any_of(spec["devices"].Items(), [&](const Value& device) {
              return device["name"].AsString() == target.device;
            }));
  });
}

// FNV-1a: the same on every machine.
std::uint32_t HashOf(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

// Names of all devices, or of all pools.
std::vector<std::string> AllNames(std::span<const Value> slices, bool devices) {
  std::set<std::string> names;
  for (const Value& slice : slices) {
    const Value& spec = slice["spec"];
    DrainTarget target{.driver = std::string(spec["driver"].AsString()),
                       .pool = std::string(spec["pool"]["name"].AsString())};
    if (!devices) names.insert(target.Text());
    for (const Value& device : spec["devices"].Items()) {
      target.device = device["name"].AsString();
      if (devices) names.insert(target.Text());
    }
  }
  return {names.begin(), names.end()};
}

// What somebody who wrote `text` can have meant: "; did you mean a?", or names that there are.
std::string Hint(std::string_view text, const std::vector<std::string>& names) {
  if (names.empty()) return "; no ResourceSlice lists any";
  if (const std::string meant = Nearest(text, names); !meant.empty()) {
    return fmt::format("; did you mean {}?", meant);
  }
  // The names that begin like `text` for longest.
  std::vector<std::string> shown = names;
  std::ranges::stable_sort(shown, std::ranges::greater(), [&](const std::string& name) {
    return std::ranges::mismatch(name, text).in1 - name.begin();
  });
  const bool more = shown.size() > kNamesShown;
  if (more) shown.resize(kNamesShown);
  return fmt::format("; there are {}{}", fmt::join(shown, ", "), more ? ", …" : "");
}

// The taint as it counts on a device.
api::DeviceTaint TaintOf(std::string_view effect) {
  return {.key = std::string(kDrainTaintKey), .value = "", .effect = std::string(effect)};
}

// Only tolerations of exactly NoExecute count for eviction, and of those only such without end
// (upstream's device taint eviction).
bool StaysFor(const Value& result, const api::DeviceTaint& taint) {
  return std::ranges::any_of(result["tolerations"].Items(), [&](const Value& value) {
    const Result<api::DeviceToleration> toleration = api::DeviceToleration::FromJson(value);
    return toleration && toleration->effect == "NoExecute" && !toleration->toleration_seconds &&
           toleration->Tolerates(taint);
  });
}

bool Covers(std::span<const DrainTarget> targets, const Value& result) {
  return std::ranges::any_of(targets, [&](const DrainTarget& target) {
    return result["driver"].AsString() == target.driver &&
           result["pool"].AsString() == target.pool &&
           (target.device.empty() || result["device"].AsString() == target.device);
  });
}

}  // namespace

std::string DrainTarget::Text() const {
  return device.empty() ? fmt::format("{}/{}", driver, pool)
                        : fmt::format("{}/{}/{}", driver, pool, device);
}

std::vector<DrainTarget> ReadingsOf(std::string_view text) {
  const std::size_t first = text.find('/');
  if (first == std::string_view::npos) return {};
  const std::string driver(text.substr(0, first));
  const std::string rest(text.substr(first + 1));
  std::vector<DrainTarget> readings;
  if (const std::size_t last = rest.rfind('/'); last != std::string::npos) {
    readings.push_back({driver, rest.substr(0, last), rest.substr(last + 1)});
  }
  readings.push_back({driver, rest, ""});
  std::erase_if(readings, [](const DrainTarget& target) {
    return target.driver.empty() || target.pool.empty() || target.Text().ends_with('/');
  });
  return readings;
}

Result<DrainTarget> FindDrainTarget(std::string_view text, std::span<const Value> slices) {
  const std::vector<DrainTarget> readings = ReadingsOf(text);
  if (readings.empty()) {
    return BadInput(
        fmt::format("\"{}\" is no device: want DRIVER/POOL/DEVICE, or DRIVER/POOL for "
                    "all devices of a pool",
                    text));
  }
  for (const DrainTarget& target : readings) {
    if (HasDevices(target, slices)) return target;
  }
  const bool of_device = !readings.front().device.empty();
  return Fail(Code::kNotFound, fmt::format("there is no {} {}{}", of_device ? "device" : "pool",
                                           text, Hint(text, AllNames(slices, of_device))));
}

Result<std::vector<DrainTarget>> DrainTargetsOfNode(std::string_view node,
                                                    std::span<const Value> slices) {
  std::set<std::string> nodes;
  std::set<std::pair<std::string, std::string>> elsewhere;  // pools with a part on other nodes
  for (const Value& slice : slices) {
    const Value& spec = slice["spec"];
    const std::string_view of = spec["nodeName"].AsString();
    if (!of.empty()) nodes.emplace(of);
    if (of != node) elsewhere.emplace(spec["driver"].AsString(), spec["pool"]["name"].AsString());
  }
  std::vector<DrainTarget> targets;
  const auto add = [&](DrainTarget target) {
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(std::move(target));
  };
  for (const Value& slice : slices) {
    const Value& spec = slice["spec"];
    const bool here = spec["nodeName"].AsString() == node;
    DrainTarget target{std::string(spec["driver"].AsString()),
                       std::string(spec["pool"]["name"].AsString()), ""};
    if (here && !elsewhere.contains({target.driver, target.pool})) {
      add(std::move(target));
      continue;
    }
    for (const Value& device : spec["devices"].Items()) {
      const std::string_view of = device["nodeName"].AsString();
      if (!of.empty()) nodes.emplace(of);
      if (!here && of != node) continue;
      target.device = device["name"].AsString();
      add(target);
    }
  }
  if (!targets.empty()) return targets;
  const std::vector<std::string> names(nodes.begin(), nodes.end());
  return Fail(Code::kNotFound,
              fmt::format("node {} has no devices of its own{}", node, Hint(node, names)));
}

std::string DrainRuleName(const DrainTarget& target) {
  const std::string text = target.Text();
  std::string name = "drain-";
  for (const char c : text.substr(0, kReadableMax)) name += c == '/' ? '-' : c;
  // A label of a name ends with a letter or digit.
  while (name.ends_with('.')) name.pop_back();
  return fmt::format("{}-{:08x}", name, HashOf(text));
}

Value MakeDrainRule(const DrainTarget& target, std::string_view version, std::string_view effect,
                    std::string_view reason) {
  Value annotations = Value::Object({{kDrainTarget, target.Text()}});
  if (!reason.empty()) annotations.Set(kDrainReason, reason);
  Value selector = Value::Object({{"driver", target.driver}, {"pool", target.pool}});
  if (!target.device.empty()) selector.Set("device", target.device);
  return Value::Object(
      {{"apiVersion", fmt::format("resource.k8s.io/{}", version)},
       {"kind", "DeviceTaintRule"},
       {"metadata", Value::Object({{"name", DrainRuleName(target)},
                                   {"labels", Value::Object({{kManagedBy, kManager}})},
                                   {"annotations", std::move(annotations)}})},
       {"spec",
        Value::Object({{"deviceSelector", std::move(selector)},
                       {"taint", Value::Object({{"key", kDrainTaintKey}, {"effect", effect}})}})}});
}

bool IsDrainRule(const Value& rule) { return client::LabelOf(rule, kManagedBy) == kManager; }

std::vector<DrainHolder> DrainHoldersOf(std::span<const DrainTarget> targets,
                                        std::span<const Value> claims, std::string_view effect) {
  const api::DeviceTaint taint = TaintOf(effect);
  std::vector<DrainHolder> holders;
  for (const Value& claim : claims) {
    DrainHolder holder{.claim = client::KeyOf(claim),
                       .ns = std::string(client::NamespaceOf(claim))};
    holder.tolerates = true;
    for (const Value& result : claim.At({"status", "allocation", "devices", "results"}).Items()) {
      if (!Covers(targets, result)) continue;
      holder.devices.push_back(fmt::format("{}/{}/{}", result["driver"].AsString(),
                                           result["pool"].AsString(), result["device"].AsString()));
      holder.tolerates &= StaysFor(result, taint);
    }
    if (holder.devices.empty()) continue;
    for (const Value& consumer : claim["status"]["reservedFor"].Items()) {
      const std::string_view resource = consumer["resource"].AsString();
      holder.pods.push_back((resource == "pods" ? "" : std::string(resource) + "/") +
                            std::string(consumer["name"].AsString()));
    }
    holders.push_back(std::move(holder));
  }
  std::ranges::sort(holders, {}, &DrainHolder::claim);
  return holders;
}

}  // namespace drachma::cli
