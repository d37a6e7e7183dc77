#include "controllers/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "client/objects.h"
#include "json/json.h"

namespace drachma::controllers {
namespace {

using json::Value;

constexpr std::string_view kDeletionCost = "controller.kubernetes.io/pod-deletion-cost";

std::int64_t ToInt(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int PhaseRank(const Value& pod) {
  const std::string_view phase = pod["status"]["phase"].AsString();
  if (phase == "Running") return 2;
  return phase == "Unknown" ? 1 : 0;
}

// Ages count in powers of two, so that pods started about together are equal and their uids decide
// (upstream's LogarithmicScaleDown). Younger is smaller.
int AgeRank(Time since, Time now) {
  const double seconds = std::chrono::duration<double>(now - since).count();
  return seconds <= 0 ? 0 : static_cast<int>(std::log2(seconds + 1));
}

Time ReadySince(const Value& pod) {
  const Value* ready = client::ConditionOf(pod, "Ready");
  if (ready == nullptr) return {};
  const auto time = ParseTime((*ready)["lastTransitionTime"].AsString());
  return time ? *time : Time();
}

std::int64_t RestartsMax(const Value& pod) {
  std::int64_t most = 0;
  for (const Value& container : pod["status"]["containerStatuses"].Items()) {
    most = std::max(most, container["restartCount"].AsInt());
  }
  return most;
}

// Writes `value` so that equal values give equal texts.
void WriteSorted(const Value& value, std::string& out) {
  if (value.IsObject()) {
    std::map<std::string_view, const Value*> members;
    for (const json::Member& member : value.Members()) {
      if (!member.value.IsNull()) members.emplace(member.key(), &member.value);
    }
    out += '{';
    for (const auto& [key, member] : members) {
      out += key;
      out += ':';
      WriteSorted(*member, out);
      out += ',';
    }
    out += '}';
  } else if (value.IsArray()) {
    out += '[';
    for (const Value& item : value.Items()) {
      WriteSorted(item, out);
      out += ',';
    }
    out += ']';
  } else {
    json::WriteTo(value, out);
  }
}

}  // namespace

bool IsPodActive(const Value& pod) {
  return !client::IsPodTerminal(pod) && !client::IsBeingDeleted(pod);
}

bool IsPodReady(const Value& pod) { return client::IsConditionTrue(pod, "Ready"); }

std::optional<Duration> UntilAvailable(const Value& pod, Duration min_ready, Time now) {
  if (!IsPodReady(pod)) return std::nullopt;
  if (min_ready <= Duration(0)) return Duration(0);
  return ReadySince(pod) + min_ready - now;
}

void ReadyCounts::Add(const Value& pod, Duration min_ready, Time now, Work& work) {
  const std::optional<Duration> wait = UntilAvailable(pod, min_ready, now);
  if (!wait) return;
  ++ready;
  if (*wait <= Duration(0)) {
    ++available;
  } else {
    work.again = std::min(work.again.value_or(*wait), *wait);
  }
}

void SetCount(Value& status, std::string_view field, std::int64_t count) {
  if (count == 0) {
    status.Erase(field);
  } else {
    status.Set(field, count);
  }
}

Value ControllerReference(const OwnerKind& kind, const Value& owner) {
  Value reference = client::OwnerReference(client::ApiVersionOf(kind.resource), kind.kind, owner);
  reference.Set("blockOwnerDeletion", true);
  return reference;
}

Value PodFromTemplate(const OwnerKind& kind, const Value& owner, const Value& pod_template) {
  Value metadata = Value::Object();
  for (const std::string_view field : {"labels", "annotations", "finalizers"}) {
    if (const Value* value = pod_template["metadata"].Find(field)) metadata.Set(field, *value);
  }
  metadata.Set("generateName", fmt::format("{}-", client::NameOf(owner)));
  metadata.Set("namespace", client::NamespaceOf(owner));
  metadata.Set("ownerReferences", Value::Array({ControllerReference(kind, owner)}));
  return Value::Object({{"apiVersion", "v1"},
                        {"kind", "Pod"},
                        {"metadata", std::move(metadata)},
                        {"spec", pod_template["spec"]}});
}

namespace {

Action PatchOwners(const client::Resource& resource, const Value& object, Value references) {
  Value metadata = Value::Object({{"uid", client::UidOf(object)},
                                  {"resourceVersion", client::ResourceVersionOf(object)},
                                  {"ownerReferences", std::move(references)}});
  return {.request = client::PatchRequest(resource, client::NamespaceOf(object),
                                          client::NameOf(object), client::PatchType::kMerge,
                                          Value::Object({{"metadata", std::move(metadata)}}))};
}

}  // namespace

Action Adopt(const client::Resource& resource, const Value& object, const OwnerKind& kind,
             const Value& owner) {
  Value references = object["metadata"]["ownerReferences"];
  references.Append(ControllerReference(kind, owner));
  return PatchOwners(resource, object, std::move(references));
}

Action Release(const client::Resource& resource, const Value& object, const Value& owner) {
  Value kept = Value::Array();
  for (const Value& reference : object["metadata"]["ownerReferences"].Items()) {
    if (reference["uid"].AsString() != client::UidOf(owner)) kept.Append(reference);
  }
  return PatchOwners(resource, object, std::move(kept));
}

std::vector<const Value*> VictimsOf(std::vector<const Value*> pods,
                                    const std::vector<const Value*>& related, std::size_t count,
                                    Time now) {
  if (count >= pods.size()) return pods;
  std::map<std::string_view, int> on_node;
  for (const Value* pod : related) {
    if (IsPodActive(*pod)) ++on_node[(*pod)["spec"]["nodeName"].AsString()];
  }
  const auto rank = [&](const Value* pod) {
    const std::string_view node = (*pod)["spec"]["nodeName"].AsString();
    const bool ready = IsPodReady(*pod);
    return std::tuple(!node.empty(), PhaseRank(*pod), ready,
                      ToInt(client::AnnotationOf(*pod, kDeletionCost)), -on_node[node],
                      ready ? AgeRank(ReadySince(*pod), now) : 0, -RestartsMax(*pod),
                      AgeRank(client::CreatedAt(*pod), now), client::UidOf(*pod));
  };
  std::ranges::sort(pods, {}, rank);
  pods.resize(count);
  return pods;
}

std::int64_t Scaled(const Value& int_or_percent, std::int64_t total, Rounding rounding) {
  if (!int_or_percent.IsString()) return int_or_percent.AsInt();
  constexpr std::int64_t kHundred = 100;
  const std::int64_t product = ToInt(int_or_percent.AsString()) * total;
  return rounding == Rounding::kUp ? (product + kHundred - 1) / kHundred : product / kHundred;
}

std::string TemplateHash(const Value& value, std::int64_t collisions) {
  constexpr std::string_view kSafe = "bcdfghjklmnpqrstvwxz2456789";
  std::string text;
  WriteSorted(value, text);
  if (collisions != 0) text += std::to_string(collisions);
  std::uint32_t hash = 2166136261U;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  std::string safe;
  for (const char digit : std::to_string(hash)) {
    safe += kSafe[static_cast<unsigned char>(digit) % kSafe.size()];
  }
  return safe;
}

}  // namespace drachma::controllers
