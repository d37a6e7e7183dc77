#include "lint/config_rules.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "lint/classic_rules.h"
#include "lint/known_names.h"
#include "lint/path.h"
#include "lint/tree.h"
#include "validation/gpu_config.h"

namespace drachma::lint {
namespace {

using json::Value;
using validation::kComputeDomainDriver;
using validation::kGpuConfigApiVersion;
using validation::kGpuDriver;

constexpr auto kKinds =
    std::to_array<std::string_view>({"GpuConfig", "MigDeviceConfig", "VfioDeviceConfig",
                                     "ComputeDomainChannelConfig", "ComputeDomainDaemonConfig"});
constexpr auto kStrategies = std::to_array<std::string_view>({"TimeSlicing", "MPS"});
constexpr auto kIntervals = std::to_array<std::string_view>({"Default", "Short", "Medium", "Long"});
constexpr auto kPolicies = std::to_array<std::string_view>({"LegacyOnly", "PreferIommuFD"});
constexpr auto kModes = std::to_array<std::string_view>({"Single", "All"});

// Values that are words, by their path in the parameters.
struct Words {
  std::string_view path;
  std::span<const std::string_view> words;
};
constexpr auto kWords = std::to_array<Words>({
    {"kind", kKinds},
    {"sharing.strategy", kStrategies},
    {"sharing.timeSlicingConfig.interval", kIntervals},
    {"iommu.backendPolicy", kPolicies},
    {"allocationMode", kModes},
});

// Fields, as they are called and as they are written elsewhere (folded).
struct Field {
  std::string_view owner;
  std::string_view written;
  std::string_view name;
};
constexpr auto kFields = std::to_array<Field>({
    {"", "sharing", "sharing"},
    {"sharing", "strategy", "strategy"},
    {"sharing", "timeslicingconfig", "timeSlicingConfig"},
    {"sharing", "timeslicing", "timeSlicingConfig"},
    {"sharing", "mpsconfig", "mpsConfig"},
    {"sharing", "mps", "mpsConfig"},
    {"sharing.timeSlicingConfig", "interval", "interval"},
    {"sharing.timeSlicingConfig", "timeslice", "interval"},
    {"sharing.mpsConfig", "defaultactivethreadpercentage", "defaultActiveThreadPercentage"},
    {"sharing.mpsConfig", "defaultpinneddevicememorylimit", "defaultPinnedDeviceMemoryLimit"},
    {"sharing.mpsConfig", "defaultperdevicepinnedmemorylimit", "defaultPerDevicePinnedMemoryLimit"},
});

// Calls `visit` with the opaque part of every config for a driver that `takes` says yes to.
void ForEachOpaque(const Value& object, bool (*takes)(std::string_view driver),
                   const std::function<void(const Value&, const std::string&)>& visit) {
  const std::string configs = ConfigsPath(object);
  for (std::size_t i = 0; i < ValueAt(object, configs).size(); ++i) {
    const std::string path = Child(Item(configs, i), "opaque");
    const Value& opaque = ValueAt(object, path);
    if (opaque.IsObject() && takes(opaque["driver"].AsString())) visit(opaque, path);
  }
}

bool IsGpuDrivers(std::string_view driver) {
  return driver == kGpuDriver || driver == kComputeDomainDriver;
}

// What a request of the GPU driver asks for.
enum class Sort : std::uint8_t { kUnknown, kGpu, kMig, kVfio };
struct SortName {
  Sort sort;
  std::string_view type;  // the attribute
  std::string_view deviceclass;
  std::string_view config;
  std::string_view devices;
};
constexpr auto kSorts = std::to_array<SortName>({
    {Sort::kGpu, "gpu", "gpu.nvidia.com", "GpuConfig", "whole GPUs"},
    {Sort::kMig, "mig", "mig.nvidia.com", "MigDeviceConfig", "MIG devices"},
    {Sort::kVfio, "vfio", "vfio.gpu.nvidia.com", "VfioDeviceConfig", "VFIO devices"},
});

Sort SortBy(std::string_view SortName::* member, std::string_view text) {
  const auto found = std::ranges::find(kSorts, text, member);
  return found == kSorts.end() ? Sort::kUnknown : found->sort;
}

const SortName& NamesOf(Sort sort) { return *std::ranges::find(kSorts, sort, &SortName::sort); }

Sort SortOfSelectors(const Value& owner) {
  static const RE2 kType(R"re(\.type\s*==\s*['"]([a-z]+)['"])re");
  for (const Value& selector : owner["selectors"].Items()) {
    const std::string_view text = selector["cel"]["expression"].AsString();
    if (text.contains("||") || text.contains('!')) continue;
    std::string type;
    if (RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), kType, &type)) {
      return SortBy(&SortName::type, type);
    }
    if (text.contains("'].profile ==") || text.contains("\"].profile ==")) return Sort::kMig;
  }
  return Sort::kUnknown;
}

// Of a request or a subrequest.
Sort SortOf(const Value& request, const RuleContext& context) {
  if (const Sort sort = SortOfSelectors(request); sort != Sort::kUnknown) return sort;
  const std::string_view name = request["deviceClassName"].AsString();
  for (const Value& object : context.objects) {
    const bool it =
        object["kind"].AsString() == "DeviceClass" && object["metadata"]["name"].AsString() == name;
    if (it) return SortOfSelectors(object["spec"]);
  }
  return SortBy(&SortName::deviceclass, name);
}

// What may be allocated for a claim: the requests, each alternative with its own.
struct Wish {
  std::string request;      // "gpu"
  std::string alternative;  // "gpu/small"; empty for a request without alternatives
  Sort sort = Sort::kUnknown;
};

std::vector<Wish> WishesOf(const Value& requests, const RuleContext& context) {
  std::vector<Wish> wishes;
  for (const Value& request : requests.Items()) {
    const std::string name(request["name"].AsString());
    const Value& exactly = request.Has("exactly") ? request["exactly"] : request;
    if (!request.Has("firstAvailable")) wishes.push_back({name, "", SortOf(exactly, context)});
    for (const Value& alternative : request["firstAvailable"].Items()) {
      wishes.push_back({name, name + "/" + std::string(alternative["name"].AsString()),
                        SortOf(alternative, context)});
    }
  }
  return wishes;
}

bool Names(const Value& config, const Wish& wish) {
  return std::ranges::any_of(config["requests"].Items(), [&](const Value& name) {
    return name.AsString() == wish.request || name.AsString() == wish.alternative;
  });
}

Sort SortOfConfig(const Value& config) {
  const Value& opaque = config["opaque"];
  if (opaque["driver"].AsString() != kGpuDriver) return Sort::kUnknown;
  return SortBy(&SortName::config, opaque["parameters"]["kind"].AsString());
}

// Whether one of `later` decides on the wish before configs in front of it are looked at.
bool Decided(std::span<const Value> later, const Wish& wish) {
  return std::ranges::any_of(later, [&](const Value& config) {
    const bool fits = SortOfConfig(config) == wish.sort;
    return fits && (config["requests"].empty() || Names(config, wish));
  });
}

// Another kind with the same fields.
void OfferKind(const Value& parameters, Sort wanted, const std::string& path, Finding& finding) {
  const bool slices = parameters["sharing"].Has("timeSlicingConfig");
  const bool shares = parameters["kind"].AsString() != NamesOf(Sort::kVfio).config;
  if (!shares || wanted == Sort::kVfio || (wanted == Sort::kMig && slices)) return;
  finding.fix = fmt::format("kind: {}", NamesOf(wanted).config);
  finding.changes = {{.path = path, .value = NamesOf(wanted).config}};
}

}  // namespace

std::string ConfigsPath(const Value& object) {
  const std::string_view claim = ClaimSpecPath(object);
  if (!claim.empty()) return Child(claim, "devices.config");
  const bool of_class = object["apiVersion"].AsString().starts_with("resource.k8s.io/") &&
                        object["kind"].AsString() == "DeviceClass";
  return of_class ? "spec.config" : "";
}

void OldConfigDriver(const Value& object, const RuleContext&, std::vector<Found>& found) {
  const auto is_old = [](std::string_view driver) { return DriverToday(driver) != driver; };
  ForEachOpaque(object, is_old, [&](const Value& opaque, const std::string& path) {
    const std::string_view driver = opaque["driver"].AsString();
    const std::string today(DriverToday(driver));
    Found made =
        MakeFound(Child(path, "driver"), "config-driver",
                  fmt::format("{} was the driver of classic DRA, today's is {}", driver, today),
                  fmt::format("driver: {}", today));
    made.finding.changes = {{.path = Child(path, "driver"), .value = today}};
    found.push_back(std::move(made));
  });
}

void OldConfigVersion(const Value& object, const RuleContext&, std::vector<Found>& found) {
  ForEachOpaque(object, IsGpuDrivers, [&](const Value& opaque, const std::string& path) {
    const std::string at = Child(path, "parameters.apiVersion");
    const std::string_view version = opaque["parameters"]["apiVersion"].AsString();
    const std::string_view group = version.substr(0, version.find('/'));
    if (version == kGpuConfigApiVersion || !group.ends_with("nvidia.com")) return;
    Found made = MakeFound(at, "config-api-version",
                           fmt::format("the driver reads parameters of {}, no longer of {}",
                                       kGpuConfigApiVersion, version),
                           fmt::format("apiVersion: {}", kGpuConfigApiVersion));
    made.finding.changes = {{.path = at, .value = kGpuConfigApiVersion}};
    found.push_back(std::move(made));
  });
}

void ConfigSpelling(const Value& object, const RuleContext&, std::vector<Found>& found) {
  ForEachOpaque(object, IsGpuDrivers, [&](const Value& opaque, const std::string& path) {
    const std::string parameters = Child(path, "parameters");
    for (const Field& field : kFields) {
      const Value& owner = ValueAt(opaque["parameters"], field.owner);
      if (owner.Has(field.name)) continue;
      for (const json::Member& member : owner.Members()) {
        if (Folded(member.key()) != field.written) continue;
        const std::string at =
            Child(field.owner.empty() ? parameters : Child(parameters, field.owner), member.key());
        Found made = MakeFound(at, "config-spelling",
                               fmt::format("\"{}\" is called \"{}\"", member.key(), field.name),
                               fmt::format("{}: …", field.name));
        made.finding.changes = {{.type = Change::Type::kReplaceMember,
                                 .path = at,
                                 .key = std::string(field.name),
                                 .value = member.value}};
        found.push_back(std::move(made));
        break;
      }
    }
    for (const Words& words : kWords) {
      const std::string_view value = ValueAt(opaque["parameters"], words.path).AsString();
      const auto meant = std::ranges::find_if(
          words.words, [&](std::string_view word) { return Folded(word) == Folded(value); });
      if (meant == words.words.end() || *meant == value) continue;
      const std::string at = Child(parameters, words.path);
      Found made = MakeFound(at, "config-spelling", fmt::format("{} is spelled {}", value, *meant),
                             std::string(*meant));
      made.finding.changes = {{.path = at, .value = *meant}};
      found.push_back(std::move(made));
    }
  });
}

void ConfigOfWrongKind(const Value& object, const RuleContext& context, std::vector<Found>& found) {
  const std::string_view claim = ClaimSpecPath(object);
  if (claim.empty()) return;
  const Value& devices = ValueAt(object, Child(claim, "devices"));
  const std::vector<Wish> wishes = WishesOf(devices["requests"], context);
  const auto configs = devices["config"].Items();
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const Sort sort = SortOfConfig(configs[i]);
    if (sort == Sort::kUnknown || wishes.empty()) continue;
    const std::string path = Child(Item(ConfigsPath(object), i), "opaque.parameters.kind");
    const Value& parameters = configs[i]["opaque"]["parameters"];
    if (configs[i]["requests"].empty()) {
      const bool none = std::ranges::none_of(wishes, [&](const Wish& wish) {
        return wish.sort == sort || wish.sort == Sort::kUnknown;
      });
      if (!none) continue;
      Found made = MakeFound(path, "config-kind",
                             fmt::format("{} is for {}, and no request asks for such: the driver "
                                         "passes this config by",
                                         NamesOf(sort).config, NamesOf(sort).devices),
                             "");
      made.finding.severity = Severity::kWarning;
      OfferKind(parameters, wishes[0].sort, path, made.finding);
      found.push_back(std::move(made));
      continue;
    }
    for (const Wish& wish : wishes) {
      if (!Names(configs[i], wish) || wish.sort == Sort::kUnknown || wish.sort == sort) continue;
      if (Decided(configs.subspan(i + 1), wish)) continue;
      Found made =
          MakeFound(path, "config-kind",
                    fmt::format("{} is for {}, and request \"{}\" asks for {}: the driver would "
                                "refuse to prepare the claim",
                                NamesOf(sort).config, NamesOf(sort).devices,
                                wish.alternative.empty() ? wish.request : wish.alternative,
                                NamesOf(wish.sort).devices),
                    "");
      OfferKind(parameters, wish.sort, path, made.finding);
      found.push_back(std::move(made));
      break;
    }
  }
}

}  // namespace drachma::lint
