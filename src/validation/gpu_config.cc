#include "validation/gpu_config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

namespace drachma::validation {

using json::Value;

namespace {

constexpr std::string_view kTimeSlicing = "TimeSlicing";
constexpr std::string_view kMps = "MPS";

bool Contains(const auto& items, std::string_view item) {
  return std::ranges::find(items, item) != std::ranges::end(items);
}

// Reads the fields of one object after another and remembers what it did not know.
class FieldReader {
 public:
  explicit FieldReader(std::string path) : path_(std::move(path)) {}

  using Reader = std::function<Status(const Value& value, const std::string& path)>;
  using Fields = std::vector<std::pair<std::string_view, Reader>>;

  // `object` null: nothing was written. Unknown fields go to `unknown`.
  Status Read(const Value& object, const Fields& fields, std::vector<std::string>& unknown) const {
    if (!object.IsNull() && !object.IsObject()) return WrongType("an object", path_);
    for (const json::Member& member : object.Members()) {
      const std::string path = Join(path_, member.key());
      const auto field =
          std::ranges::find(fields, member.key(), &std::pair<std::string_view, Reader>::first);
      if (field == fields.end()) {
        unknown.push_back(path);
      } else if (!member.value.IsNull()) {
        if (Status read = field->second(member.value, path); !read) return read;
      }
    }
    return {};
  }

  static Status WrongType(std::string_view wanted, std::string_view path) {
    return BadInput(fmt::format("{}: must be {}", path.empty() ? "parameters" : path, wanted));
  }

 private:
  static std::string Join(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  }

  std::string path_;
};

FieldReader::Reader Text(std::string& out) {
  return [&out](const Value& value, const std::string& path) -> Status {
    if (!value.IsString()) return FieldReader::WrongType("a string", path);
    out = value.AsString();
    return {};
  };
}

FieldReader::Reader Flag(bool& out) {
  return [&out](const Value& value, const std::string& path) -> Status {
    if (!value.IsBool()) return FieldReader::WrongType("true or false", path);
    out = value.AsBool();
    return {};
  };
}

Result<Quantity> ReadQuantity(const Value& value, std::string_view path) {
  std::string text(value.AsString());
  if (value.IsInt()) {
    text = fmt::format("{}", value.AsInt());
  } else if (value.kind() == json::Kind::kDouble) {
    text = fmt::format("{}", value.AsDouble());
  } else if (!value.IsString()) {
    return BadInput(fmt::format("{}: must be a quantity", path));
  }
  Result<Quantity> quantity = Quantity::Parse(text);
  if (!quantity) return BadInput(fmt::format("{}: {}", path, quantity.error().message));
  return quantity;
}

FieldReader::Reader Nothing() {
  return [](const Value&, const std::string&) -> Status { return {}; };
}

Status ReadMps(const Value& value, const std::string& path, std::optional<Mps>& out,
               std::vector<std::string>& unknown) {
  Mps& mps = out.emplace();
  return FieldReader(path).Read(
      value,
      {{"defaultActiveThreadPercentage",
        [&](const Value& number, const std::string& where) -> Status {
          if (!number.IsInt()) return FieldReader::WrongType("an integer", where);
          mps.default_active_thread_percentage = number.AsInt();
          return {};
        }},
       {"defaultPinnedDeviceMemoryLimit",
        [&](const Value& limit, const std::string& where) -> Status {
          Result<Quantity> quantity = ReadQuantity(limit, where);
          if (!quantity) return std::unexpected(std::move(quantity.error()));
          mps.default_pinned_device_memory_limit = *std::move(quantity);
          return {};
        }},
       {"defaultPerDevicePinnedMemoryLimit",
        [&](const Value& limits, const std::string& where) -> Status {
          if (!limits.IsObject()) return FieldReader::WrongType("an object", where);
          for (const json::Member& member : limits.Members()) {
            Result<Quantity> quantity =
                ReadQuantity(member.value, fmt::format("{}.{}", where, member.key()));
            if (!quantity) return std::unexpected(std::move(quantity.error()));
            mps.default_per_device_pinned_memory_limit[std::string(member.key())] =
                *std::move(quantity);
          }
          return {};
        }},
       {"multiUser", Flag(mps.multi_user)}},
      unknown);
}

enum class Slices : std::uint8_t { kNone, kAllowed };

// The reader of `sharing`; only whole GPUs have settings for time slicing.
FieldReader::Reader SharingOf(std::optional<Sharing>& out, Slices slices,
                              std::vector<std::string>& unknown) {
  return [&out, slices, &unknown](const Value& value, const std::string& path) -> Status {
    Sharing& sharing = out.emplace();
    FieldReader::Fields fields = {
        {"strategy", Text(sharing.strategy)},
        {"mpsConfig", [&](const Value& mps, const std::string& where) -> Status {
           return ReadMps(mps, where, sharing.mps, unknown);
         }}};
    if (slices == Slices::kAllowed) {
      fields.emplace_back("timeSlicingConfig",
                          [&](const Value& config, const std::string& where) -> Status {
                            TimeSlicing& time = sharing.time_slicing.emplace();
                            return FieldReader(where).Read(
                                config, {{"interval", Text(time.interval.emplace())}}, unknown);
                          });
    }
    return FieldReader(path).Read(value, fields, unknown);
  };
}

// The fields of `parameters` besides apiVersion and kind.
Status ReadKind(const Value& parameters, FieldReader::Fields fields,
                std::vector<std::string>& unknown) {
  fields.emplace_back("apiVersion", Nothing());
  fields.emplace_back("kind", Nothing());
  return FieldReader("").Read(parameters, fields, unknown);
}

Status ReadInto(GpuConfig& config, const Value& from, std::vector<std::string>& unknown) {
  return ReadKind(from, {{"sharing", SharingOf(config.sharing, Slices::kAllowed, unknown)}},
                  unknown);
}

Status ReadInto(MigDeviceConfig& config, const Value& from, std::vector<std::string>& unknown) {
  return ReadKind(from, {{"sharing", SharingOf(config.sharing, Slices::kNone, unknown)}}, unknown);
}

Status ReadInto(VfioDeviceConfig& config, const Value& from, std::vector<std::string>& unknown) {
  return ReadKind(from,
                  {{"iommu",
                    [&](const Value& iommu, const std::string& where) -> Status {
                      return FieldReader(where).Read(
                          iommu,
                          {{"backendPolicy", Text(config.backend_policy)},
                           {"enableAPIDevice", Flag(config.enable_api_device)}},
                          unknown);
                    }}},
                  unknown);
}

Status ReadInto(ComputeDomainChannelConfig& config, const Value& from,
                std::vector<std::string>& unknown) {
  return ReadKind(
      from,
      {{"domainID", Text(config.domain_id)}, {"allocationMode", Text(config.allocation_mode)}},
      unknown);
}

Status ReadInto(ComputeDomainDaemonConfig& config, const Value& from,
                std::vector<std::string>& unknown) {
  return ReadKind(from, {{"domainID", Text(config.domain_id)}}, unknown);
}

constexpr std::string_view NameOf(const GpuConfig&) { return "GpuConfig"; }
constexpr std::string_view NameOf(const MigDeviceConfig&) { return "MigDeviceConfig"; }
constexpr std::string_view NameOf(const VfioDeviceConfig&) { return "VfioDeviceConfig"; }
constexpr std::string_view NameOf(const ComputeDomainChannelConfig&) {
  return "ComputeDomainChannelConfig";
}
constexpr std::string_view NameOf(const ComputeDomainDaemonConfig&) {
  return "ComputeDomainDaemonConfig";
}

// The config whose kind is `kind`, all fields unset.
template <std::size_t kIndex = 0>
std::optional<GpuOpaqueConfig> Empty(std::string_view kind) {
  if constexpr (kIndex < std::variant_size_v<GpuOpaqueConfig>) {
    using Config = std::variant_alternative_t<kIndex, GpuOpaqueConfig>;
    if (NameOf(Config{}) == kind) return Config{};
    return Empty<kIndex + 1>(kind);
  } else {
    return std::nullopt;
  }
}

void NormalizeSharing(std::optional<Sharing>& sharing, Slices slices) {
  if (!sharing) return;
  if (sharing->strategy == kTimeSlicing && slices == Slices::kAllowed) {
    if (!sharing->time_slicing) sharing->time_slicing.emplace();
  }
  if (sharing->time_slicing && sharing->time_slicing->interval.value_or("").empty()) {
    sharing->time_slicing->interval = "Default";
  }
  if (sharing->strategy == kMps && !sharing->mps) sharing->mps.emplace();
}

void Fill(GpuConfig& config) { NormalizeSharing(config.sharing, Slices::kAllowed); }
void Fill(MigDeviceConfig& config) { NormalizeSharing(config.sharing, Slices::kNone); }
void Fill(VfioDeviceConfig& config) {
  if (config.backend_policy.empty()) config.backend_policy = "LegacyOnly";
}
void Fill(ComputeDomainChannelConfig& config) {
  if (config.allocation_mode.empty()) config.allocation_mode = "Single";
}
void Fill(ComputeDomainDaemonConfig&) {}

std::unexpected<Error> Refuse(std::string message) {
  return Fail(Code::kInvalid, std::move(message));
}

bool IsOn(const DriverGates& enabled, std::string_view gate) { return enabled && enabled(gate); }

Status CheckMps(const Mps& mps) {
  const std::int64_t percentage = mps.default_active_thread_percentage.value_or(0);
  if (percentage < 0) return Refuse("active thread percentage must not be negative");
  if (percentage > 100) return Refuse("active thread percentage must not be greater than 100");
  return {};
}

Status CheckSharing(const std::optional<Sharing>& sharing, const DriverGates& enabled) {
  if (!sharing) return {};
  const std::string& strategy = sharing->strategy;
  if (strategy != kTimeSlicing && strategy != kMps) {
    return Refuse(fmt::format("unknown GPU sharing strategy: {}", strategy));
  }
  const std::string_view gate = strategy == kMps ? "MPSSupport" : "TimeSlicingSettings";
  if (!IsOn(enabled, gate)) {
    return Refuse(fmt::format("GPU sharing strategy {} needs feature gate {}", strategy, gate));
  }
  if (strategy == kMps) {
    if (sharing->time_slicing) {
      return Refuse("cannot use TimeSlicingConfig with the 'MPS' strategy");
    }
    return sharing->mps ? CheckMps(*sharing->mps) : Status();
  }
  if (sharing->mps) return Refuse("cannot use MpsConfig with the 'TimeSlicing' strategy");
  const std::string interval =
      sharing->time_slicing ? sharing->time_slicing->interval.value_or("") : "Default";
  static constexpr std::string_view kIntervals[] = {"Default", "Short", "Medium", "Long"};
  if (!Contains(kIntervals, interval)) {
    return Refuse(fmt::format("unknown time-slice interval: {}", interval));
  }
  return {};
}

Status CheckConfig(const GpuConfig& config, const DriverGates& enabled) {
  return CheckSharing(config.sharing, enabled);
}

Status CheckConfig(const MigDeviceConfig& config, const DriverGates& enabled) {
  return CheckSharing(config.sharing, enabled);
}

Status CheckConfig(const VfioDeviceConfig& config, const DriverGates& enabled) {
  if (!IsOn(enabled, "PassthroughSupport")) {
    return Refuse("VfioDeviceConfig needs feature gate PassthroughSupport");
  }
  if (config.backend_policy != "LegacyOnly" && config.backend_policy != "PreferIommuFD") {
    return Refuse(fmt::format("unknown IOMMU backend policy: {}", config.backend_policy));
  }
  return {};
}

Status CheckConfig(const ComputeDomainChannelConfig& config, const DriverGates&) {
  if (config.domain_id.empty()) return Refuse("domainID cannot be empty");
  if (config.allocation_mode != "Single" && config.allocation_mode != "All") {
    return Refuse(fmt::format("unknown allocation mode: {}", config.allocation_mode));
  }
  return {};
}

Status CheckConfig(const ComputeDomainDaemonConfig& config, const DriverGates&) {
  if (config.domain_id.empty()) return Refuse("domainID cannot be empty");
  return {};
}

// The limit as the daemon wants it; nothing when it is less than one megabyte.
std::optional<std::string> Megabytes(const Quantity& limit) {
  const std::int64_t megabytes = limit.Value() / 1024 / 1024;
  if (megabytes <= 0) return std::nullopt;
  return fmt::format("{}M", megabytes);
}

// The UUID that `key` means: itself, or the one at that place.
Result<std::string> UuidOf(std::string_view key, std::span<const std::string> uuids) {
  if (Contains(uuids, key)) return std::string(key);
  std::int64_t index = 0;
  const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (fault != std::errc() || end != key.data() + key.size()) {
    return Refuse(fmt::format("invalid device: unable to parse key as an integer: {}", key));
  }
  if (index < 0 || std::cmp_greater_equal(index, uuids.size())) {
    return Refuse(fmt::format("invalid device: invalid device index: {}", index));
  }
  return uuids[static_cast<std::size_t>(index)];
}

}  // namespace

Result<GpuOpaqueConfig> DecodeGpuConfig(const Value& parameters, Decoding decoding) {
  if (!parameters.IsObject()) return BadInput("parameters: must be an object");
  const std::string_view version = parameters["apiVersion"].AsString();
  const std::string_view kind = parameters["kind"].AsString();
  if (kind.empty()) return BadInput("Object 'Kind' is missing in the parameters");
  if (version.empty()) return BadInput("Object 'apiVersion' is missing in the parameters");
  std::optional<GpuOpaqueConfig> config =
      version == kGpuConfigApiVersion ? Empty(kind) : std::nullopt;
  if (!config) {
    return BadInput(fmt::format("no kind \"{}\" is registered for version \"{}\"", kind, version));
  }
  std::vector<std::string> unknown;
  if (Status read =
          std::visit([&](auto& fields) { return ReadInto(fields, parameters, unknown); }, *config);
      !read) {
    return std::unexpected(std::move(read.error()));
  }
  if (!unknown.empty() && decoding == Decoding::kStrict) {
    for (std::string& field : unknown) field = fmt::format("unknown field \"{}\"", field);
    return BadInput(fmt::format("strict decoding error: {}", fmt::join(unknown, ", ")));
  }
  return *std::move(config);
}

std::string_view KindOf(const GpuOpaqueConfig& config) {
  return std::visit([](const auto& fields) { return NameOf(fields); }, config);
}

void Normalize(GpuOpaqueConfig& config) {
  std::visit([](auto& fields) { Fill(fields); }, config);
}

Status Validate(const GpuOpaqueConfig& config, const DriverGates& enabled) {
  return std::visit([&](const auto& fields) { return CheckConfig(fields, enabled); }, config);
}

Result<GpuOpaqueConfig> ReadGpuConfig(const Value& parameters, Decoding decoding,
                                      const DriverGates& enabled) {
  Result<GpuOpaqueConfig> config = DecodeGpuConfig(parameters, decoding);
  if (!config) return config;
  Normalize(*config);
  if (Status valid = Validate(*config, enabled); !valid) {
    return std::unexpected(std::move(valid.error()));
  }
  return config;
}

Result<std::map<std::string, std::string>> PinnedMemoryLimits(const Mps& mps,
                                                              std::span<const std::string> uuids) {
  std::map<std::string, std::string> limits;
  if (mps.default_pinned_device_memory_limit && !uuids.empty()) {
    const Quantity& limit = *mps.default_pinned_device_memory_limit;
    const std::optional<std::string> text = Megabytes(limit);
    if (!text) {
      return Refuse(fmt::format("invalid limit: default value set too low: {}", limit.ToString()));
    }
    for (const std::string& uuid : uuids) limits[uuid] = *text;
  }
  for (const auto& [key, limit] : mps.default_per_device_pinned_memory_limit) {
    Result<std::string> uuid = UuidOf(key, uuids);
    if (!uuid) return std::unexpected(std::move(uuid.error()));
    const std::optional<std::string> text = Megabytes(limit);
    if (!text) {
      return Refuse(fmt::format("invalid limit: value set too low: {}: {}", key, limit.ToString()));
    }
    limits[*std::move(uuid)] = *text;
  }
  return limits;
}

Status CheckGpuConfigs(std::string_view kind, const Value& object, const DriverGates& enabled) {
  const Value* configs = nullptr;
  std::string_view path;
  if (kind == "ResourceClaim") {
    configs = &object.At({"spec", "devices", "config"});
    path = "spec.devices.config";
  } else if (kind == "ResourceClaimTemplate") {
    configs = &object.At({"spec", "spec", "devices", "config"});
    path = "spec.spec.devices.config";
  } else if (kind == "DeviceClass") {
    configs = &object.At({"spec", "config"});
    path = "spec.config";
  } else {
    return {};
  }
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < configs->size(); ++i) {
    const Value& opaque = configs->Items()[i]["opaque"];
    const std::string_view driver = opaque["driver"].AsString();
    if (driver != kGpuDriver && driver != kComputeDomainDriver) continue;
    const std::string where = fmt::format("{}[{}].opaque.parameters", path, i);
    Result<GpuOpaqueConfig> config = DecodeGpuConfig(opaque["parameters"], Decoding::kStrict);
    if (!config) {
      faults.push_back(
          fmt::format("error decoding object at {}: {}", where, config.error().message));
      continue;
    }
    Normalize(*config);
    const Status valid = Validate(*config, enabled);
    if (!valid) {
      faults.push_back(fmt::format("object at {} is invalid: {}", where, valid.error().message));
    }
  }
  if (faults.empty()) return {};
  return Refuse(
      fmt::format("{} configs failed to validate: {}", faults.size(), fmt::join(faults, "; ")));
}

}  // namespace drachma::validation
