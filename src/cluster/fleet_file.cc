// The file format of fleets.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "cluster/fleet.h"
#include "json/yaml.h"
#include "num/quantity.h"

namespace drachma::cluster {
namespace {

using json::Value;

constexpr std::string_view kApiVersion = "drachma.dev/v1alpha1";
constexpr std::size_t kGroupNameMax = 57;  // a node's name is a label value of 63 characters

// Reads one document and gathers its faults.
class FleetReader {
 public:
  FleetReader(const json::YamlDocument& document, std::string_view file)
      : document_(document), file_(file) {}

  Fleet Read() {
    const Value& root = document_.value;
    Fleet fleet;
    if (!root.IsObject()) {
      Report("", "a Fleet is expected here");
      return fleet;
    }
    OnlyMembers("", root, {"apiVersion", "kind", "metadata", "name", "description", "groups"});
    if (root["apiVersion"].AsString() != kApiVersion) {
      Report("apiVersion", fmt::format("must be {}", kApiVersion));
    }
    if (root["kind"].AsString() != "Fleet") Report("kind", "must be Fleet");
    fleet.name = root["metadata"]["name"].AsString(root["name"].AsString("file"));
    fleet.description = root["description"].AsString();
    if (!root["groups"].IsArray() || root["groups"].empty()) {
      Report("groups", "must be a list of at least one group");
      return fleet;
    }
    std::set<std::string> names;
    for (std::size_t i = 0; i < root["groups"].size(); ++i) {
      const std::string path = fmt::format("groups[{}]", i);
      fleet.groups.push_back(ReadGroup(path, root["groups"].Items()[i]));
      if (!names.insert(fleet.groups.back().name).second) {
        Report(path + ".name", "another group has this name");
      }
    }
    return fleet;
  }

  // Every fault, one a line.
  [[nodiscard]] const std::string& faults() const { return faults_; }

 private:
  void Report(const std::string& path, std::string_view text) {
    const json::YamlDocument::Place& place = document_.PlaceOf(path);
    if (!faults_.empty()) faults_ += '\n';
    faults_ += fmt::format("{}:{}:{}: {}{}{}", file_, place.value.line, place.value.column, path,
                           path.empty() ? "" : ": ", text);
  }

  void OnlyMembers(const std::string& path, const Value& object,
                   const std::vector<std::string_view>& known) {
    for (const json::Member& member : object.Members()) {
      if (std::ranges::find(known, member.key()) != known.end()) continue;
      Report(path.empty() ? std::string(member.key()) : fmt::format("{}.{}", path, member.key()),
             fmt::format("unknown field; known are {}", fmt::join(known, ", ")));
    }
  }

  std::string ReadText(const std::string& path, const Value& object, std::string_view field,
                       std::string fallback) {
    const Value* value = object.Find(field);
    if (value == nullptr) return fallback;
    if (value->IsInt()) return std::to_string(value->AsInt());
    if (value->IsString()) return std::string(value->AsString());
    Report(fmt::format("{}.{}", path, field), "must be a text");
    return fallback;
  }

  std::string ReadQuantity(const std::string& path, const Value& object, std::string_view field,
                           std::string fallback) {
    std::string text = ReadText(path, object, field, std::move(fallback));
    const Result<Quantity> quantity = Quantity::Parse(text);
    if (!quantity || quantity->Sign() < 0) {
      Report(fmt::format("{}.{}", path, field),
             fmt::format("\"{}\" is no quantity (as 64, 512Gi, 1Ti)", text));
    }
    return text;
  }

  int ReadCount(const std::string& path, const Value& object, std::string_view field, int fallback,
                int most) {
    const Value* value = object.Find(field);
    if (value == nullptr) return fallback;
    if (value->IsInt() && value->AsInt() >= 0 && value->AsInt() <= most) {
      return static_cast<int>(value->AsInt());
    }
    Report(fmt::format("{}.{}", path, field), fmt::format("must be a number from 0 to {}", most));
    return fallback;
  }

  NodeGroup ReadGroup(const std::string& path, const Value& value) {
    NodeGroup group;
    if (!value.IsObject()) {
      Report(path, "must be a group: {name: …, count: …}");
      return group;
    }
    OnlyMembers(path, value,
                {"name", "count", "cpu", "memory", "pods", "labels", "gpu", "nvlinkDomain"});
    group.name = ReadText(path, value, "name", "");
    const bool plain =
        !group.name.empty() && group.name.size() <= kGroupNameMax &&
        std::ranges::all_of(
            group.name,
            [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }) &&
        group.name.front() != '-';
    if (!plain) {
      Report(value.Has("name") ? path + ".name" : path,
             "a name of lower-case letters, digits and dashes is needed");
    }
    group.count = ReadCount(path, value, "count", 1, kNodesPerGroupMax);
    group.cpu = ReadQuantity(path, value, "cpu", group.cpu);
    group.memory = ReadQuantity(path, value, "memory", group.memory);
    group.pods = ReadQuantity(path, value, "pods", group.pods);
    for (const json::Member& label : value["labels"].Members()) {
      group.labels.emplace(label.key(),
                           ReadText(path + ".labels", value["labels"], label.key(), ""));
    }
    group.nvlink_domain = ReadText(path, value, "nvlinkDomain", "");
    if (value.Has("gpu")) group.gpu = ReadGpu(path + ".gpu", value["gpu"]);
    return group;
  }

  GroupGpu ReadGpu(const std::string& path, const Value& value) {
    GroupGpu gpu;
    OnlyMembers(path, value, {"model", "count", "mig", "migDevices", "consumableShares", "gates"});
    const std::string key = ReadText(path, value, "model", "");
    gpu.model = gpu::FindModel(key);
    if (gpu.model == nullptr) {
      std::vector<std::string_view> keys;
      for (const gpu::Model& model : gpu::Models()) keys.push_back(model.key);
      Report(path + ".model",
             fmt::format("unknown model \"{}\"; known are {}", key, fmt::join(keys, ", ")));
      gpu.model = &gpu::Models().front();
    }
    gpu.count = ReadCount(path, value, "count", 1, kGpusPerNodeMax);
    const std::string mig = ReadText(path, value, "mig", "off");
    if (mig == "dynamic") {
      gpu.mig = gpu::MigMode::kDynamic;
      if (gpu.model->profiles.empty()) {
        Report(path + ".mig", fmt::format("{} cannot be cut into parts", gpu.model->key));
      }
    } else if (mig == "static") {
      gpu.mig = gpu::MigMode::kStatic;
    } else if (mig != "off" && mig != "false") {
      Report(path + ".mig", fmt::format("\"{}\" is none of off, static, dynamic", mig));
    }
    ReadMigDevices(path, value, gpu);
    const std::string text = ReadText(path, value, "consumableShares", "disabled");
    if (const Result<gpu::Shares> shares = gpu::ParseShares(text)) {
      gpu.shares = *shares;
    } else {
      Report(path + ".consumableShares", shares.error().message);
    }
    for (const Value& gate : value["gates"].Items()) gpu.gates.emplace_back(gate.AsString());
    if (const Status gates = gpu::CheckSpecGates(gpu); !gates) {
      Report(value.Has("gates") ? path + ".gates" : path, gates.error().message);
    }
    return gpu;
  }

  // The parts that each GPU is cut into, by profile.
  void ReadMigDevices(const std::string& gpu_path, const Value& value, GroupGpu& gpu) {
    const std::string path = gpu_path + ".migDevices";
    if (gpu.mig != gpu::MigMode::kStatic) {
      if (value.Has("migDevices")) Report(path, "is for mig: static");
      return;
    }
    if (!value["migDevices"].IsObject() || value["migDevices"].empty()) {
      Report(value.Has("migDevices") ? path : gpu_path,
             "mig: static needs migDevices: {PROFILE: COUNT, …}, the parts of each GPU");
      return;
    }
    for (const json::Member& wanted : value["migDevices"].Members()) {
      const auto& profiles = gpu.model->profiles;
      const auto profile = std::ranges::find(profiles, wanted.key(), &gpu::MigProfile::name);
      if (profile == profiles.end()) {
        std::vector<std::string_view> names;
        for (const gpu::MigProfile& known : profiles) names.push_back(known.name);
        Report(path, fmt::format("{} has no MIG profile \"{}\"; it has {}", gpu.model->key,
                                 wanted.key(), fmt::join(names, ", ")));
        return;
      }
      if (!wanted.value.IsInt() || wanted.value.AsInt() < 0 ||
          wanted.value.AsInt() > profile->instances_max) {
        Report(path, fmt::format("{}: must be a number from 0 to {}", wanted.key(),
                                 profile->instances_max));
        return;
      }
      gpu.parts.push_back({.profile = &*profile, .count = static_cast<int>(wanted.value.AsInt())});
    }
    if (const auto placed = gpu::PlaceParts(*gpu.model, gpu.parts); !placed) {
      Report(path, placed.error().message);
    }
  }

  const json::YamlDocument& document_;
  const std::string_view file_;
  std::string faults_;
};

}  // namespace

Result<Fleet> ReadFleet(std::string_view text, std::string_view file) {
  Result<std::vector<json::YamlDocument>> documents = json::ReadYaml(text);
  if (!documents) {
    return Fail(Code::kInvalid, fmt::format("{}: {}", file, documents.error().message));
  }
  if (documents->size() != 1) {
    return Fail(Code::kInvalid, fmt::format("{}: one Fleet is expected, not {} documents", file,
                                            documents->size()));
  }
  const json::YamlDocument& document = documents->front();
  FleetReader reader(document, file);
  Fleet fleet = reader.Read();
  for (const json::DuplicateKey& duplicate : document.duplicates) {
    return Fail(Code::kInvalid, fmt::format("{}: {}: given twice", file, duplicate.path));
  }
  if (!reader.faults().empty()) return Fail(Code::kInvalid, reader.faults());
  return fleet;
}

std::string WriteFleet(const Fleet& fleet) {
  Value groups = Value::Array();
  for (const NodeGroup& group : fleet.groups) {
    Value value = Value::Object({{"name", group.name},
                                 {"count", group.count},
                                 {"cpu", group.cpu},
                                 {"memory", group.memory}});
    if (!group.labels.empty()) {
      Value labels = Value::Object();
      for (const auto& [key, text] : group.labels) labels.Set(key, text);
      value.Set("labels", std::move(labels));
    }
    if (group.gpu) {
      Value gpu = Value::Object({{"model", group.gpu->model->key}, {"count", group.gpu->count}});
      if (group.gpu->mig == gpu::MigMode::kDynamic) gpu.Set("mig", "dynamic");
      if (group.gpu->mig == gpu::MigMode::kStatic) {
        gpu.Set("mig", "static");
        for (const gpu::WantedParts& wanted : group.gpu->parts) {
          gpu.Edit("migDevices").Set(wanted.profile->name, wanted.count);
        }
      }
      if (group.gpu->shares != gpu::Shares{}) {
        gpu.Set("consumableShares", gpu::WriteShares(group.gpu->shares));
      }
      for (const std::string& gate : group.gpu->gates) gpu.Edit("gates").Append(gate);
      value.Set("gpu", std::move(gpu));
    }
    if (!group.nvlink_domain.empty()) value.Set("nvlinkDomain", group.nvlink_domain);
    groups.Append(std::move(value));
  }
  return json::WriteYaml(Value::Object({{"apiVersion", kApiVersion},
                                        {"kind", "Fleet"},
                                        {"metadata", Value::Object({{"name", fleet.name}})},
                                        {"description", fleet.description},
                                        {"groups", std::move(groups)}}),
                         json::KeyOrder::kAsIs);
}

}  // namespace drachma::cluster
