#include "selector/environment.h"

#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "selector/device_impl.h"

namespace drachma::selector {
namespace {

// The limits of resource.k8s.io that bound sizes.
constexpr std::uint64_t kDomainMax = 63;
constexpr std::uint64_t kIdMax = 32;
constexpr std::uint64_t kDriverMax = 63;
constexpr std::uint64_t kAttributesMax = 32;  // attributes and capacities of a device
constexpr std::uint64_t kValueMax = 64;       // bytes of a value; more than items of a list

constexpr int kAnyVersion = std::numeric_limits<int>::max();

// A library of apiserver's environment and the minor versions of Kubernetes 1.x that have it.
struct Library {
  int introduced;
  int removed;  // the first version without it
  void (*add)(cel::Environment& env);
};

void AddStringsTwo(cel::Environment& env) { cel::AddStrings(env, cel::StringsVersion::kTwo); }
void AddLiteralChecks(cel::Environment& env) { env.validate_literals = true; }
void AddCrossTypes(cel::Environment& env) { env.check.cross_type_comparisons = true; }
void AddListsOne(cel::Environment& env) {
  cel::AddKubernetesLists(env);
  cel::AddIncludes(env);
}

// In upstream's order, which decides which overload of a name is tried first.
constexpr Library kLibraries[] = {
    {0, kAnyVersion, cel::AddStandard},
    {0, kAnyVersion, cel::AddKubernetesUrls},
    {0, kAnyVersion, cel::AddKubernetesRegex},
    {0, 37, cel::AddKubernetesLists},
    {27, kAnyVersion, cel::AddKubernetesAuthorizer},
    {28, kAnyVersion, AddCrossTypes},
    {28, kAnyVersion, cel::AddOptional},
    {28, kAnyVersion, cel::AddKubernetesQuantity},
    {29, kAnyVersion, AddLiteralChecks},
    {29, kAnyVersion, AddStringsTwo},
    {29, kAnyVersion, cel::AddSets},
    {30, kAnyVersion, cel::AddKubernetesIp},
    {30, kAnyVersion, cel::AddKubernetesCidr},
    {31, kAnyVersion, cel::AddKubernetesFormat},
    {31, kAnyVersion, cel::AddKubernetesAuthorizerSelectors},
    {32, kAnyVersion, cel::AddTwoVariableComprehensions},
    {33, kAnyVersion, cel::AddKubernetesSemver},
    {34, kAnyVersion, cel::AddLists},
    {37, kAnyVersion, AddListsOne},
    {31, kAnyVersion, cel::AddBindings},
};

struct Key {
  bool consumable_capacity;
  bool list_type_attributes;
  bool stored;
  int minor;
  auto operator<=>(const Key&) const = default;
};

void AddDevice(DeviceEnvironment& env, const Key& key) {
  cel::CheckEnv& check = env.cel.check;
  cel::Arena& arena = check.arena();
  const cel::Type* quantity = cel::StructType(arena, "kubernetes.Quantity");
  env.list_type_attributes = key.list_type_attributes;
  env.attribute_type = key.list_type_attributes ? &cel::types::kDyn : &cel::types::kAny;
  const auto by_name = [&](const cel::Type* value) {
    const cel::Type* inner = cel::MapOf(arena, &cel::types::kString, value);
    return cel::MapOf(arena, &cel::types::kString, inner);
  };
  cel::StructDecl device;
  device.type = cel::StructType(arena, "kubernetes.DRADevice");
  device.fields["driver"] = &cel::types::kString;
  device.fields["attributes"] = by_name(env.attribute_type);
  device.fields["capacity"] = by_name(quantity);
  if (key.consumable_capacity) device.fields["allowMultipleAllocations"] = &cel::types::kBool;
  check.AddVariable("device", device.type);
  check.AddStruct(std::move(device));
}

// Names of types that the checker knows though no value of them can be made: what upstream's
// providers of types declare. Planning an expression that uses one fails.
void AddNamesOfTypes(cel::CheckEnv& check) {
  cel::Arena& arena = check.arena();
  const auto add = [&](std::string_view name, const cel::Type* type) {
    check.AddVariable(name, cel::TypeOf(arena, type));
  };
  add("timestamp", &cel::types::kTimestamp);
  add("duration", &cel::types::kDuration);
  for (const std::string_view name : {"kubernetes.DRADevice", "google.protobuf.Empty"}) {
    add(name, cel::StructType(arena, name));
  }
  add("google.protobuf.Any", &cel::types::kAny);
  add("google.protobuf.Value", &cel::types::kDyn);
  add("google.protobuf.ListValue", cel::ListOf(arena, &cel::types::kDyn));
  add("google.protobuf.Struct", cel::MapOf(arena, &cel::types::kString, &cel::types::kDyn));
  constexpr std::pair<std::string_view, std::string_view> kWrappers[] = {
      {"Bool", "bool"},     {"Bytes", "bytes"}, {"Double", "double"},
      {"Float", "double"},  {"Int32", "int"},   {"Int64", "int"},
      {"String", "string"}, {"UInt32", "uint"}, {"UInt64", "uint"}};
  for (const auto& [prefix, wrapped] : kWrappers) {
    const std::string text = "wrapper(" + std::string(wrapped) + ")";
    add(arena.CopyString("google.protobuf." + std::string(prefix) + "Value"),
        cel::ParseType(arena, arena.CopyString(text), {}));
  }
}

std::unique_ptr<DeviceEnvironment> Build(const Key& key) {
  auto env = std::make_unique<DeviceEnvironment>();
  env->cel.check.cross_type_comparisons = false;
  const int minor = key.stored ? kAnyVersion - 1 : key.minor;
  for (const Library& library : kLibraries) {
    if (minor >= library.introduced && minor < library.removed) library.add(env->cel);
  }
  if (key.list_type_attributes) cel::AddIncludes(env->cel);
  AddNamesOfTypes(env->cel.check);
  AddDevice(*env, key);
  return env;
}

// --- Paths

class DriverLoader final : public cel::PathLoader {
 public:
  bool Find(const void* host, cel::Value* value) const override {
    *value = static_cast<const Device::Impl*>(host)->driver_value;
    return true;
  }
};
class AllowMultipleLoader final : public cel::PathLoader {
 public:
  bool Find(const void* host, cel::Value* value) const override {
    *value = cel::Value::Bool(static_cast<const Device::Impl*>(host)->allow_multiple_allocations);
    return true;
  }
};
template <NameTable Device::Impl::* kTable>
class NameLoader final : public cel::PathLoader {
 public:
  NameLoader(std::string_view domain, std::string_view id)
      : name_(std::string(domain) + "/" + std::string(id)), hash_(HashName(name_)) {}
  bool Find(const void* host, cel::Value* value) const override {
    const cel::Value* found = (static_cast<const Device::Impl*>(host)->*kTable).Find(hash_, name_);
    if (found == nullptr) return false;
    *value = *found;
    return true;
  }

 private:
  std::string name_;
  std::uint64_t hash_;
};

// --- Sizes

// A declared type with the most elements that a value of it has.
struct Sized {
  enum class Kind : std::uint8_t { kDevice, kOuter, kInner, kLeaf } kind;
  std::uint64_t max;
  bool attributes = false;  // of maps: of attributes, not capacities
};
constexpr Sized Leaf(std::uint64_t max) { return {Sized::Kind::kLeaf, max}; }

std::optional<Sized> Step(const Sized& from, std::string_view step) {
  const bool map = from.kind == Sized::Kind::kOuter || from.kind == Sized::Kind::kInner;
  if (step == "@items" || step == "@values") {
    if (!map) return std::nullopt;
    if (from.kind == Sized::Kind::kOuter) {
      return Sized{Sized::Kind::kInner, kAttributesMax, from.attributes};
    }
    return Leaf(from.attributes ? kValueMax : 0);
  }
  if (step == "@keys") {
    if (!map) return std::nullopt;
    return Leaf(from.kind == Sized::Kind::kOuter ? kDomainMax : kIdMax);
  }
  if (from.kind == Sized::Kind::kDevice) {
    if (step == "driver") return Leaf(kDriverMax);
    if (step == "attributes") return Sized{Sized::Kind::kOuter, kAttributesMax, true};
    if (step == "capacity") return Sized{Sized::Kind::kOuter, kAttributesMax, false};
    if (step == "allowMultipleAllocations") return Leaf(1);
    return std::nullopt;
  }
  // Any name of an attribute is an attribute.
  if (from.kind == Sized::Kind::kInner && from.attributes) return Leaf(kValueMax);
  return std::nullopt;
}

}  // namespace

const DeviceEnvironment& DeviceEnvironment::Get(const CompileOptions& options) {
  static std::mutex mutex;
  static std::map<Key, std::unique_ptr<DeviceEnvironment>> environments;
  const bool stored = options.environment == Environment::kStored;
  // Stored expressions may use everything, whatever is enabled now.
  const Key key{.consumable_capacity = stored || options.consumable_capacity,
                .list_type_attributes = stored || options.list_type_attributes,
                .stored = stored,
                .minor = stored ? 0 : options.compatibility_minor};
  const std::lock_guard lock(mutex);
  std::unique_ptr<DeviceEnvironment>& env = environments[key];
  if (env == nullptr) env = Build(key);
  return *env;
}

std::optional<cel::Estimate> DeviceCostHints::Size(const cel::CostNode& node) const {
  if (node.path.empty() || node.path[0] != "device") return std::nullopt;
  Sized at{Sized::Kind::kDevice, 0};
  for (std::size_t i = 1; i < node.path.size(); ++i) {
    const std::optional<Sized> next = Step(at, node.path[i]);
    if (!next) return std::nullopt;
    at = *next;
  }
  return cel::Estimate{0, at.max};
}

std::unique_ptr<cel::PathLoader> DevicePaths::Plan(
    std::string_view root, const std::vector<std::string_view>& keys) const {
  if (root != "device") return nullptr;
  if (keys.size() == 1 && keys[0] == "driver") return std::make_unique<DriverLoader>();
  if (keys.size() == 1 && keys[0] == "allowMultipleAllocations") {
    return std::make_unique<AllowMultipleLoader>();
  }
  if (keys.size() != 3) return nullptr;
  if (keys[0] == "attributes") {
    return std::make_unique<NameLoader<&Device::Impl::attributes>>(keys[1], keys[2]);
  }
  if (keys[0] == "capacity") {
    return std::make_unique<NameLoader<&Device::Impl::capacity>>(keys[1], keys[2]);
  }
  return nullptr;
}

}  // namespace drachma::selector
