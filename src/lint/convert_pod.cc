#include "lint/convert_pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "json/json.h"
#include "lint/convert_labels.h"
#include "lint/path.h"
#include "lint/tree.h"
#include "num/quantity.h"

namespace drachma::lint {
namespace {

using json::Value;

constexpr std::size_t kLabelMax = 63;  // of the name of a request
constexpr int kTemplateDepthMax = 20;

// A container's wish for devices.
struct Wish {
  std::string container;  // its path
  std::string name;
  std::size_t index = 0;     // among init containers and containers
  bool short_lived = false;  // an init container that ends before the others begin
  PluginMapping mapping;
  std::int64_t count = 0;
};

// A request of the claim, and who uses it.
struct Request {
  std::string name;
  const Wish* wish = nullptr;
  std::int64_t count = 0;
  std::vector<const Wish*> users;
};

Value Amount(const Value& container, std::string_view resource) {
  const Value& resources = container["resources"];
  const Value& limit = resources["limits"][resource];
  return limit.IsNull() ? resources["requests"][resource] : limit;
}

std::optional<std::int64_t> CountOf(const Value& amount) {
  const Result<Quantity> quantity =
      Quantity::Parse(amount.IsString() ? amount.AsString() : json::Write(amount));
  return quantity ? quantity->AsInt64() : std::nullopt;
}

// How many pods of the object are there at a time; nothing when nobody can say.
std::optional<std::int64_t> PodsOf(const Value& object) {
  const std::string_view kind = object["kind"].AsString();
  if (kind == "Pod") return 1;
  if (kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet") {
    return object["spec"]["replicas"].AsInt(1);
  }
  if (kind == "Job") return object["spec"]["parallelism"].AsInt(1);
  if (kind == "CronJob") return object.At({"spec", "jobTemplate", "spec", "parallelism"}).AsInt(1);
  return std::nullopt;
}

class PodConverter {
 public:
  PodConverter(const Value& object, std::string pod_path, std::string suffix,
               const PluginCatalog& catalog, Conversion& out)
      : object_(object),
        pod_path_(std::move(pod_path)),
        suffix_(std::move(suffix)),
        pod_(ValueAt(object, pod_path_)),
        catalog_(catalog),
        out_(out) {}

  void Run() {
    FindWishes();
    if (wishes_.empty()) return;
    if (AnyNvidia(false) || AnyNvidia(true)) {
      labels_ = TakeLabels(object_, pod_path_, AnyNvidia(true), out_);
      if (labels_.mig) MakeMig(labels_.mig_profile);
    }
    MakeRequests();
    NameRequests();
    Emit(/*shared=*/false);
    Emit(/*shared=*/true);
    EditContainers();
  }

 private:
  void FindWishes() {
    std::size_t index = 0;
    for (const std::string_view list : {"initContainers", "containers"}) {
      const std::string path = Child(pod_path_, list);
      const Value& containers = pod_[list];
      for (std::size_t i = 0; i < containers.size(); ++i) {
        FindWishesOf(containers.Items()[i], Item(path, i), index++, list == "initContainers");
      }
    }
  }

  void FindWishesOf(const Value& container, const std::string& path, std::size_t index,
                    bool is_init) {
    std::set<std::string> seen;
    for (const std::string_view list : {"limits", "requests"}) {
      const std::string at = Child(Child(path, "resources"), list);
      for (const json::Member& member : container["resources"][list].Members()) {
        if (!seen.emplace(member.key()).second) continue;
        const std::string place = Child(at, member.key());
        std::optional<PluginMapping> mapping = catalog_.Find(member.key());
        if (!mapping) {
          if (IsVendorResource(member.key())) ReportUnknown(member.key(), place);
          continue;
        }
        const std::optional<std::int64_t> count = CountOf(Amount(container, member.key()));
        if (!count || *count < 0) {
          out_.Refuse(place, "device-count",
                      fmt::format("{} is no number of devices", json::Write(member.value)));
          continue;
        }
        CheckShared(*mapping, *count, place);
        const bool sidecar = container["restartPolicy"].AsString() == "Always";
        wishes_.push_back({.container = path,
                           .name = std::string(container["name"].AsString()),
                           .index = index,
                           .short_lived = is_init && !sidecar,
                           .mapping = *std::move(mapping),
                           .count = *count});
      }
    }
  }

  void ReportUnknown(std::string_view resource, const std::string& place) {
    if (catalog_.Stays(resource)) {
      return out_.Warn(place, "plugin-resource-stays",
                       fmt::format("{} stays with its device plugin", resource));
    }
    out_.Refuse(place, "unknown-plugin-resource",
                fmt::format("no DeviceClass is known for {0}: add a file with one whose "
                            "extendedResourceName it is, or leave it to its plugin with --keep {0}",
                            resource));
  }

  // A share becomes a claim that all pods of the object use.
  void CheckShared(const PluginMapping& mapping, std::int64_t count, const std::string& place) {
    if (!mapping.shared || count == 0) return;
    if (count > 1) {
      return out_.Refuse(place, "shared-device-count",
                         fmt::format("{} shares of {} are no more of a device than one: ask for 1, "
                                     "or for whole devices",
                                     count, mapping.resource));
    }
    const std::optional<std::int64_t> pods = PodsOf(object_);
    if (!pods) {
      return out_.Refuse(place, "shared-device-pods",
                         fmt::format("pods of a {} are on several nodes and cannot share one "
                                     "claim",
                                     object_["kind"].AsString()));
    }
    const std::int64_t replicas = mapping.shared->replicas;
    if (replicas > 0 && *pods > replicas) {
      return out_.Refuse(place, "shared-device-pods",
                         fmt::format("{} pods share devices by {}: one claim is one device, so "
                                     "this wants {} workloads with a claim each",
                                     *pods, replicas, (*pods + replicas - 1) / replicas));
    }
    out_.Warn(place, "shared-device",
              fmt::format("all pods of this {} use one device, on one node, by one claim; pods of "
                          "other workloads join them by naming it",
                          object_["kind"].AsString()));
    if (mapping.shared->mps) {
      out_.Warn(place, "shared-device-memory",
                "the device plugin limits the memory of each MPS client to its part of the "
                "device's; say it in mpsConfig.defaultPinnedDeviceMemoryLimit");
    }
  }

  [[nodiscard]] bool AnyNvidia(bool mig) const {
    return std::ranges::any_of(wishes_, [&](const Wish& wish) {
      return wish.mapping.driver == "gpu.nvidia.com" && wish.count > 0 && wish.mapping.mig == mig;
    });
  }

  // Parts of GPUs by the name of the whole.
  void MakeMig(std::string_view profile) {
    for (Wish& wish : wishes_) {
      if (wish.mapping.driver != "gpu.nvidia.com" || wish.mapping.own_class) continue;
      if (wish.mapping.profile.empty()) wish.mapping.profile = profile;
      wish.mapping.mig = true;
      wish.mapping.device_class = "mig.nvidia.com";
    }
  }

  // As upstream does for extended resources: containers that live on have devices of their own,
  // init containers use these before and ask for what they lack.
  void MakeRequests() {
    std::map<std::string, std::size_t> shared;  // requests by resource
    for (const Wish& wish : wishes_) {
      if (wish.count == 0) continue;
      if (wish.mapping.shared) {
        const auto [at, is_new] = shared.try_emplace(wish.mapping.resource, requests_.size());
        if (is_new) requests_.push_back({.wish = &wish, .count = 1});
        requests_[at->second].users.push_back(&wish);
      } else if (!wish.short_lived) {
        requests_.push_back({.wish = &wish, .count = wish.count, .users = {&wish}});
      }
    }
    std::map<std::string, std::size_t> extra;  // requests by resource
    const std::size_t living = requests_.size();
    for (const Wish& wish : wishes_) {
      if (!wish.short_lived || wish.count == 0 || wish.mapping.shared) continue;
      std::int64_t missing = wish.count;
      for (std::size_t i = 0; i < living && missing > 0; ++i) {
        Request& request = requests_[i];
        const bool later = request.wish->index >= wish.index;
        if (!later || request.wish->mapping.resource != wish.mapping.resource) continue;
        request.users.push_back(&wish);
        missing -= request.count;
      }
      if (missing <= 0) continue;
      const auto [at, is_new] = extra.try_emplace(wish.mapping.resource, requests_.size());
      if (is_new) requests_.push_back({.wish = &wish});
      Request& request = requests_[at->second];
      request.count = std::max(request.count, missing);
      request.users.push_back(&wish);
    }
  }

  [[nodiscard]] std::size_t CountIn(bool shared) const {
    return static_cast<std::size_t>(std::ranges::count_if(requests_, [&](const Request& request) {
      return request.wish->mapping.shared.has_value() == shared;
    }));
  }

  void NameRequests() {
    std::set<std::string> names;
    for (Request& request : requests_) {
      const Wish& wish = *request.wish;
      const auto of_container = std::ranges::count_if(
          requests_, [&](const Request& other) { return other.wish->container == wish.container; });
      std::string name = wish.mapping.Noun();
      if (CountIn(wish.mapping.shared.has_value()) > 1) {
        name = of_container > 1 ? fmt::format("{}-{}", wish.name, name) : wish.name;
      }
      name.resize(std::min(name.size(), kLabelMax - 3));
      std::string unique = name;
      for (int i = 2; !names.insert(unique).second; ++i) unique = fmt::format("{}-{}", name, i);
      request.name = unique;
    }
  }

  // The claim's name in the pod: what its first request is, and nothing that is there.
  std::string ClaimName(const Request& first) {
    const std::string noun = first.wish->mapping.Noun();
    std::string name = noun;
    const auto taken = [&](std::string_view wanted) {
      return claim_names_.contains(std::string(wanted)) ||
             std::ranges::any_of(pod_["resourceClaims"].Items(), [&](const Value& claim) {
               return claim["name"].AsString() == wanted;
             });
    };
    for (int i = 2; taken(name); ++i) name = fmt::format("{}-{}", noun, i);
    claim_names_.insert(name);
    return name;
  }

  Value RequestOf(const Request& request) const {
    const PluginMapping& mapping = request.wish->mapping;
    Value exactly = Value::Object({{"deviceClassName", mapping.device_class}});
    std::vector<std::string> selectors = mapping.Selectors();
    if (mapping.driver == "gpu.nvidia.com") {
      selectors.insert(selectors.end(), labels_.selectors.begin(), labels_.selectors.end());
    }
    if (!selectors.empty()) {
      Value list = Value::Array();
      for (const std::string& selector : selectors) {
        list.Append(Value::Object({{"cel", Value::Object({{"expression", selector}})}}));
      }
      exactly.Set("selectors", std::move(list));
    }
    if (request.count != 1) exactly.Set("count", request.count);
    return Value::Object({{"name", request.name}, {"exactly", std::move(exactly)}});
  }

  // How the device of a request is shared, for its driver.
  static Value ConfigOf(const Request& request) {
    const PluginMapping& mapping = request.wish->mapping;
    const SharedUse& use = *mapping.shared;
    Value sharing = Value::Object({{"strategy", use.mps ? "MPS" : "TimeSlicing"}});
    if (use.mps && use.replicas > 0) {
      sharing.Set("mpsConfig",
                  Value::Object({{"defaultActiveThreadPercentage", 100 / use.replicas}}));
    } else if (!use.mps && !mapping.mig) {
      sharing.Set("timeSlicingConfig", Value::Object({{"interval", "Default"}}));
    }
    const Value parameters = Value::Object({{"apiVersion", "resource.nvidia.com/v1beta1"},
                                            {"kind", mapping.mig ? "MigDeviceConfig" : "GpuConfig"},
                                            {"sharing", std::move(sharing)}});
    return Value::Object(
        {{"requests", Value::Array({request.name})},
         {"opaque", Value::Object({{"driver", mapping.driver}, {"parameters", parameters}})}});
  }

  // The claim or template of the requests that are shared, or are not.
  void Emit(bool shared) {
    Value requests = Value::Array();
    Value configs = Value::Array();
    const Request* first = nullptr;
    for (const Request& request : requests_) {
      if (request.wish->mapping.shared.has_value() != shared) continue;
      if (first == nullptr) first = &request;
      requests.Append(RequestOf(request));
      if (shared && request.wish->mapping.driver == "gpu.nvidia.com") {
        configs.Append(ConfigOf(request));
      }
    }
    if (first == nullptr) return;
    const std::string claim = ClaimName(*first);
    for (const Request& request : requests_) {
      if (request.wish->mapping.shared.has_value() != shared) continue;
      for (const Wish* user : request.users) {
        Value entry = Value::Object({{"name", claim}});
        if (requests.size() > 1) entry.Set("request", request.name);
        entries_[user->container].push_back(std::move(entry));
      }
    }
    Value devices = Value::Object({{"requests", std::move(requests)}});
    if (!configs.empty()) devices.Set("config", std::move(configs));
    Value spec = Value::Object({{"devices", std::move(devices)}});
    const std::string name = ObjectName(claim);
    Value metadata = Value::Object({{"name", name}});
    const Value& ns = object_["metadata"]["namespace"];
    if (ns.IsString()) metadata.Set("namespace", ns);
    if (!shared) spec = Value::Object({{"spec", std::move(spec)}});
    out_.made.push_back(Value::Object({{"apiVersion", "resource.k8s.io/v1"},
                                       {"kind", shared ? "ResourceClaim" : "ResourceClaimTemplate"},
                                       {"metadata", std::move(metadata)},
                                       {"spec", std::move(spec)}}));
    AddTo(Child(pod_path_, "resourceClaims"), pod_["resourceClaims"].empty() && !listed_,
          Value::Object({{"name", claim},
                         {shared ? "resourceClaimName" : "resourceClaimTemplateName", name}}));
    listed_ = true;
  }

  [[nodiscard]] std::string ObjectName(const std::string& claim) const {
    const Value& metadata = object_["metadata"];
    std::string name(metadata["name"].AsString(metadata["generateName"].AsString("pod")));
    if (!name.ends_with('-')) name += '-';
    return name + suffix_ + claim;
  }

  // An item for the list at `path`, which is made where there is none.
  void AddTo(const std::string& path, bool missing, Value item) {
    if (!missing) {
      out_.changes.push_back(
          {.type = Change::Type::kAppendItem, .path = path, .value = std::move(item)});
      return;
    }
    out_.changes.push_back({.type = Change::Type::kInsertMember,
                            .path = Parent(path),
                            .key = path.substr(path.rfind('.') + 1),
                            .value = Value::Array({std::move(item)})});
  }

  void EditContainers() {
    std::set<std::string> done;
    for (const Wish& wish : wishes_) {
      if (!done.insert(wish.container).second) continue;
      const std::string resources = Child(wish.container, "resources");
      const Value& before = ValueAt(object_, resources);
      bool missing = before["claims"].empty();
      for (Value& entry : entries_[wish.container]) {
        AddTo(Child(resources, "claims"), missing, std::move(entry));
        missing = false;
      }
      for (const std::string_view list : {"limits", "requests"}) {
        RemoveWishes(before[list], Child(resources, list), wish.container);
      }
    }
    std::ranges::move(labels_.changes, std::back_inserter(out_.changes));
  }

  void RemoveWishes(const Value& amounts, const std::string& path, const std::string& container) {
    std::vector<Change> removals;
    for (const json::Member& member : amounts.Members()) {
      const bool wished = std::ranges::any_of(wishes_, [&](const Wish& wish) {
        return wish.container == container && wish.mapping.resource == member.key();
      });
      if (!wished) continue;
      removals.push_back({.type = Change::Type::kRemoveMember, .path = Child(path, member.key())});
    }
    if (removals.empty()) return;
    if (removals.size() == amounts.size()) {
      removals = {{.type = Change::Type::kRemoveMember, .path = path}};
    }
    std::ranges::move(removals, std::back_inserter(out_.changes));
  }

  const Value& object_;
  const std::string pod_path_;
  const std::string suffix_;  // of names, where an object has several pod specs
  const Value& pod_;
  const PluginCatalog& catalog_;
  Conversion& out_;
  std::vector<Wish> wishes_;
  LabelsTaken labels_;
  std::vector<Request> requests_;
  std::set<std::string> claim_names_;
  std::map<std::string, std::vector<Value>> entries_;  // of resources.claims, by container
  bool listed_ = false;
};

// Templates of pods below `value`.
void FindTemplates(const Value& value, const std::string& path, int depth,
                   std::vector<std::string>& found) {
  if (depth == kTemplateDepthMax) return;
  if (value.IsArray()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      FindTemplates(value.Items()[i], Item(path, i), depth + 1, found);
    }
  }
  if (!value.IsObject()) return;
  for (const json::Member& member : value.Members()) {
    const std::string at = Child(path, member.key());
    if (member.value["spec"]["containers"].IsArray()) {
      found.push_back(Child(at, "spec"));
    } else {
      FindTemplates(member.value, at, depth + 1, found);
    }
  }
}

}  // namespace

void Conversion::Refuse(std::string path, std::string rule, std::string message) {
  found.push_back(MakeFound(std::move(path), std::move(rule), std::move(message), ""));
}

void Conversion::Warn(std::string path, std::string rule, std::string message) {
  Refuse(std::move(path), std::move(rule), std::move(message));
  found.back().finding.severity = Severity::kWarning;
}

bool Conversion::refused() const {
  return std::ranges::any_of(
      found, [](const Found& one) { return one.finding.severity == Severity::kError; });
}

std::vector<std::string> PodSpecPathsOf(const Value& object) {
  if (const std::string_view known = PodSpecPath(object); !known.empty()) {
    return {std::string(known)};
  }
  std::vector<std::string> found;
  FindTemplates(object["spec"], "spec", 0, found);
  return found;
}

Conversion PodToClaims(const Value& object, const PluginCatalog& catalog) {
  Conversion conversion;
  const std::vector<std::string> paths = PodSpecPathsOf(object);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string suffix = paths.size() == 1 ? "" : fmt::format("{}-", i);
    PodConverter(object, paths[i], suffix, catalog, conversion).Run();
  }
  return conversion;
}

}  // namespace drachma::lint
