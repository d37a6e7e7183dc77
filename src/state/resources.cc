#include "state/resources.h"

#include <algorithm>

#include "num/quantity.h"

namespace drachma::state {
namespace {

using json::Value;
using Entry = std::pair<ResourceId, std::int64_t>;

bool IsSidecar(const Value& container) { return container["restartPolicy"].AsString() == "Always"; }

// The amounts that every step of the sum needs: read by a function, so that scoring can read
// unstated requests differently with the same rules.
template <typename T, typename Read>
T SumOfPod(const Value& pod, Read read) {
  const Value& spec = pod["spec"];
  T sum{};
  for (const Value& container : spec["containers"].Items()) sum.Add(read(container));
  T sidecars{};
  T greatest_init{};
  for (const Value& container : spec["initContainers"].Items()) {
    T amounts = read(container);
    if (IsSidecar(container)) {
      sum.Add(amounts);
      sidecars.Add(amounts);
      greatest_init.RaiseTo(sidecars);
    } else {
      amounts.Add(sidecars);
      greatest_init.RaiseTo(amounts);
    }
  }
  sum.RaiseTo(greatest_init);
  return sum;
}

const Value& StatusOfContainer(const Value& pod, std::string_view list, const Value& container) {
  static const Value kNone;
  for (const Value& status : pod["status"][list].Items()) {
    if (status["name"] == container["name"]) return status;
  }
  return kNone;
}

// Resources of pod-level requests (supported: cpu, memory, hugepages) stand instead of the sum.
void ReplaceStated(Amounts& sum, const Value& stated, ResourceNames& names) {
  const Amounts amounts = ReadAmounts(stated, names);
  if (stated.Has("cpu")) sum.cpu_milli = amounts.cpu_milli;
  if (stated.Has("memory")) sum.memory = amounts.memory;
  for (const auto& [id, amount] : amounts.others) sum.SetOther(id, amount);
}

struct Scored : ScoredAmounts {
  void Add(const Scored& other) {
    cpu_milli += other.cpu_milli;
    memory += other.memory;
  }
  void RaiseTo(const Scored& other) {
    cpu_milli = std::max(cpu_milli, other.cpu_milli);
    memory = std::max(memory, other.memory);
  }
};

// A quantity stands as text, or as a number in objects that went through no API server.
Result<Quantity> ReadQuantity(const Value& value) {
  if (value.IsInt()) return Quantity::FromInt(value.AsInt(), QuantityFormat::kDecimalSI);
  return Quantity::Parse(value.AsString());
}

std::int64_t MilliOr(const Value& value, std::int64_t fallback) {
  const auto quantity = ReadQuantity(value);
  return quantity ? quantity->MilliValue() : fallback;
}
std::int64_t UnitsOr(const Value& value, std::int64_t fallback) {
  const auto quantity = ReadQuantity(value);
  return quantity ? quantity->Value() : fallback;
}

}  // namespace

ResourceId ResourceNames::IdOf(std::string_view name) {
  const auto [entry, added] =
      ids_.try_emplace(std::string(name), static_cast<ResourceId>(names_.size()));
  if (added) names_.emplace_back(name);
  return entry->second;
}

std::int64_t Amounts::Other(ResourceId id) const {
  const auto found = std::ranges::lower_bound(others, id, {}, &Entry::first);
  return found != others.end() && found->first == id ? found->second : 0;
}

void Amounts::SetOther(ResourceId id, std::int64_t amount) {
  const auto place = std::ranges::lower_bound(others, id, {}, &Entry::first);
  const bool there = place != others.end() && place->first == id;
  if (amount == 0) {
    if (there) others.erase(place);
  } else if (there) {
    place->second = amount;
  } else {
    others.emplace(place, id, amount);
  }
}

void Amounts::Add(const Amounts& amounts) {
  cpu_milli += amounts.cpu_milli;
  memory += amounts.memory;
  ephemeral_storage += amounts.ephemeral_storage;
  for (const auto& [id, amount] : amounts.others) SetOther(id, Other(id) + amount);
}

void Amounts::Subtract(const Amounts& amounts) {
  cpu_milli -= amounts.cpu_milli;
  memory -= amounts.memory;
  ephemeral_storage -= amounts.ephemeral_storage;
  for (const auto& [id, amount] : amounts.others) SetOther(id, Other(id) - amount);
}

void Amounts::RaiseTo(const Amounts& amounts) {
  cpu_milli = std::max(cpu_milli, amounts.cpu_milli);
  memory = std::max(memory, amounts.memory);
  ephemeral_storage = std::max(ephemeral_storage, amounts.ephemeral_storage);
  for (const auto& [id, amount] : amounts.others) SetOther(id, std::max(Other(id), amount));
}

bool Amounts::IsZero() const {
  return cpu_milli == 0 && memory == 0 && ephemeral_storage == 0 && others.empty();
}

Amounts ReadAmounts(const Value& quantities, ResourceNames& names) {
  Amounts amounts;
  for (const json::Member& member : quantities.Members()) {
    const std::string_view name = member.key();
    if (name == "pods") continue;
    const auto quantity = ReadQuantity(member.value);
    if (!quantity) continue;
    if (name == "cpu") {
      amounts.cpu_milli = quantity->MilliValue();
    } else if (name == "memory") {
      amounts.memory = quantity->Value();
    } else if (name == "ephemeral-storage") {
      amounts.ephemeral_storage = quantity->Value();
    } else {
      amounts.SetOther(names.IdOf(name), quantity->Value());
    }
  }
  return amounts;
}

Amounts PodRequests(const Value& pod, ResourceNames& names) {
  const bool resized = pod["status"].Has("containerStatuses");
  Amounts sum = SumOfPod<Amounts>(pod, [&](const Value& container) {
    Amounts amounts = ReadAmounts(container["resources"]["requests"], names);
    if (resized) {
      const Value& status = StatusOfContainer(
          pod, IsSidecar(container) ? "initContainerStatuses" : "containerStatuses", container);
      if (!status.IsNull()) {
        amounts.RaiseTo(ReadAmounts(status["allocatedResources"], names));
        amounts.RaiseTo(ReadAmounts(status["resources"]["requests"], names));
      }
    }
    return amounts;
  });
  const Value& spec = pod["spec"];
  ReplaceStated(sum, spec["resources"]["requests"], names);
  if (spec.Has("overhead")) sum.Add(ReadAmounts(spec["overhead"], names));
  return sum;
}

ScoredAmounts PodScoredRequests(const Value& pod) {
  const Value& spec = pod["spec"];
  Scored sum = SumOfPod<Scored>(pod, [](const Value& container) {
    const Value& requests = container["resources"]["requests"];
    Scored amounts;
    amounts.cpu_milli = MilliOr(requests["cpu"], kUnstatedCpuMilli);
    amounts.memory = UnitsOr(requests["memory"], kUnstatedMemory);
    return amounts;
  });
  const Value& stated = spec["resources"]["requests"];
  sum.cpu_milli = MilliOr(stated["cpu"], sum.cpu_milli) + MilliOr(spec["overhead"]["cpu"], 0);
  sum.memory = UnitsOr(stated["memory"], sum.memory) + UnitsOr(spec["overhead"]["memory"], 0);
  return sum;
}

}  // namespace drachma::state
