#include "selector/device.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

#include "cel/ext/quantity.h"
#include "num/semver.h"
#include "selector/device_impl.h"

namespace drachma::selector {
namespace {

using cel::Value;

constexpr const char* kBadVersion = "parse semantic version: ";

// A map of maps: domain → id → value. Looking up a domain that is not there gives an empty map.
Value OuterMap(cel::Arena& arena, const NameTable& table) {
  std::map<std::string_view, std::vector<cel::MapEntry>> domains;
  for (const NameTable::Entry& entry : table.entries()) {
    domains[entry.domain()].push_back(
        {.key = Value::CountedString(entry.id()), .value = entry.value});
  }
  std::vector<cel::MapEntry> outer;
  for (const auto& [domain, inner] : domains) {
    outer.push_back({.key = Value::CountedString(domain), .value = cel::MakeMap(arena, inner)});
  }
  const Value map = cel::MakeMap(arena, outer);
  cel::MapData* data = arena.New<cel::MapData>(map.AsMap());
  data->otherwise = arena.New<Value>(cel::MakeMap(arena, {}));
  return Value::Map(data);
}

template <typename T>
Value ListOf(cel::Arena& arena, const std::vector<T>& items, Value (*make)(cel::Arena&, const T&)) {
  std::vector<Value> values;
  for (const T& item : items) values.push_back(make(arena, item));
  return cel::MakeList(arena, values);
}

Value MakeText(cel::Arena& arena, const std::string& text) {
  return Value::CountedString(arena.CopyString(text));
}
Value MakeInt(cel::Arena&, const std::int64_t& value) { return Value::Int(value); }

// An error value for what is no version: the caller turns it into the device's error.
Value MakeVersion(cel::Arena& arena, const Version& version) {
  auto parsed = Semver::Parse(version.text);
  if (!parsed) return cel::MakeError(arena, kBadVersion + parsed.error().message);
  return Value::Opaque(arena.Own<cel::SemverData>(*std::move(parsed)));
}

Value MakeBools(cel::Arena& arena, const std::vector<bool>& items) {
  std::vector<Value> values;
  for (const bool item : items) values.push_back(Value::Bool(item));
  return cel::MakeList(arena, values);
}

// The value of an attribute, or an error.
Value MakeAttribute(cel::Arena& arena, const AttributeValue& attribute) {
  struct Visitor {
    cel::Arena& arena;
    Value operator()(std::monostate) const { return Value::Error("unsupported attribute value"); }
    Value operator()(std::int64_t value) const { return Value::Int(value); }
    Value operator()(bool value) const { return Value::Bool(value); }
    Value operator()(const std::string& value) const { return MakeText(arena, value); }
    Value operator()(const Version& value) const { return MakeVersion(arena, value); }
    Value operator()(const std::vector<std::int64_t>& value) const {
      return ListOf<std::int64_t>(arena, value, MakeInt);
    }
    Value operator()(const std::vector<bool>& value) const { return MakeBools(arena, value); }
    Value operator()(const std::vector<std::string>& value) const {
      return ListOf<std::string>(arena, value, MakeText);
    }
    Value operator()(const std::vector<Version>& value) const {
      const Value list = ListOf<Version>(arena, value, MakeVersion);
      for (const Value& item : list.AsList().elements()) {
        if (item.IsError()) return item;
      }
      return list;
    }
  };
  return std::visit(Visitor{arena}, attribute);
}

// Domain and id of a qualified name; without a domain it is the driver's.
std::pair<std::string_view, std::string_view> Split(std::string_view name,
                                                    std::string_view driver) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {driver, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

template <typename T, typename Read>
std::vector<T> ReadList(const json::Value& list, Read read) {
  std::vector<T> items;
  for (const json::Value& item : list.Items()) items.push_back(read(item));
  return items;
}

// The variant of an attribute in JSON, looked for in the order in which upstream looks.
AttributeValue ReadAttribute(const json::Value& attribute) {
  const auto text = [](const json::Value& item) { return std::string(item.AsString()); };
  const auto version = [&](const json::Value& item) { return Version{text(item)}; };
  if (const auto* list = attribute.Find("ints"); list != nullptr && list->IsArray()) {
    return ReadList<std::int64_t>(*list, [](const json::Value& item) { return item.AsInt(); });
  }
  if (const auto* list = attribute.Find("bools"); list != nullptr && list->IsArray()) {
    return ReadList<bool>(*list, [](const json::Value& item) { return item.AsBool(); });
  }
  if (const auto* list = attribute.Find("strings"); list != nullptr && list->IsArray()) {
    return ReadList<std::string>(*list, text);
  }
  if (const auto* list = attribute.Find("versions"); list != nullptr && list->IsArray()) {
    return ReadList<Version>(*list, version);
  }
  if (const auto* value = attribute.Find("int"); value != nullptr && value->IsInt()) {
    return value->AsInt();
  }
  if (const auto* value = attribute.Find("bool"); value != nullptr && value->IsBool()) {
    return value->AsBool();
  }
  if (const auto* value = attribute.Find("string"); value != nullptr && value->IsString()) {
    return text(*value);
  }
  if (const auto* value = attribute.Find("version"); value != nullptr && value->IsString()) {
    return version(*value);
  }
  return std::monostate();
}

// A quantity may be written as a number, too.
Result<Quantity> ReadQuantity(const json::Value& value) {
  if (value.IsInt()) return Quantity::Parse(std::to_string(value.AsInt()));
  return Quantity::Parse(value.AsString());
}

}  // namespace

std::uint64_t HashName(std::string_view qualified_name) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : qualified_name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return hash ^ (hash >> 32);
}

void NameTable::Put(std::string_view domain, std::string_view id, const cel::Value& value) {
  Entry entry;
  entry.name = std::string(domain) + "/" + std::string(id);
  entry.domain_size = domain.size();
  entry.hash = HashName(entry.name);
  entry.value = value;
  const auto known = std::ranges::find(entries_, entry.name, &Entry::name);
  if (known != entries_.end()) {
    known->value = value;
    return;
  }
  entries_.push_back(std::move(entry));
  Rebuild();
}

void NameTable::Rebuild() {
  constexpr std::size_t kSlotsPerEntry = 2;
  slots_.assign(std::bit_ceil(entries_.size() * kSlotsPerEntry), 0);
  mask_ = slots_.size() - 1;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    std::size_t slot = entries_[i].hash & mask_;
    while (slots_[slot] != 0) slot = (slot + 1) & mask_;
    slots_[slot] = static_cast<std::uint32_t>(i + 1);
  }
}

const cel::Value& Device::Impl::AsMap() const {
  if (!has_map_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(map_mutex_);
    if (!has_map_.load(std::memory_order_relaxed)) {
      const auto entry = [](std::string_view key, const Value& value) {
        return cel::MapEntry{.key = Value::CountedString(key), .value = value};
      };
      const std::array<cel::MapEntry, 4> entries = {
          entry("allowMultipleAllocations", Value::Bool(allow_multiple_allocations)),
          entry("attributes", OuterMap(map_arena_, attributes)),
          entry("capacity", OuterMap(map_arena_, capacity)),
          entry("driver", driver_value),
      };
      map_ = cel::MakeMap(map_arena_, entries);
      has_map_.store(true, std::memory_order_release);
    }
  }
  return map_;
}

Device::Device(std::string_view driver) : impl_(std::make_unique<Impl>()) {
  impl_->driver = driver;
  impl_->driver_value = Value::CountedString(impl_->driver);
}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Result<Device> Device::FromJson(std::string_view driver, const json::Value& device) {
  Device result(driver);
  result.SetAllowMultipleAllocations(device["allowMultipleAllocations"].AsBool());
  for (const json::Member& member : device["attributes"].Members()) {
    result.AddAttribute(member.key(), ReadAttribute(member.value));
  }
  for (const json::Member& member : device["capacity"].Members()) {
    DRA_ASSIGN(const Quantity quantity, ReadQuantity(member.value["value"]));
    result.AddCapacity(member.key(), quantity);
  }
  return result;
}

void Device::SetAllowMultipleAllocations(bool allowed) {
  impl_->allow_multiple_allocations = allowed;
}

void Device::AddAttribute(std::string_view name, const AttributeValue& value) {
  const auto [domain, id] = Split(name, impl_->driver);
  const Value made = MakeAttribute(impl_->arena, value);
  if (made.IsError()) {
    if (impl_->error.empty()) {
      impl_->error = "attribute " + std::string(name) + ": " + std::string(made.AsText());
    }
    return;
  }
  impl_->attributes.Put(domain, id, made);
}

void Device::AddCapacity(std::string_view name, const Quantity& value) {
  const auto [domain, id] = Split(name, impl_->driver);
  impl_->capacity.Put(domain, id, Value::Opaque(impl_->arena.Own<cel::QuantityData>(value)));
}

std::string_view Device::driver() const { return impl_->driver; }
bool Device::allow_multiple_allocations() const { return impl_->allow_multiple_allocations; }

}  // namespace drachma::selector
