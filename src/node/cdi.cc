#include "node/cdi.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "json/json.h"

namespace drachma::node {
namespace {

using json::Value;

// The first version that has hostPath of device nodes.
constexpr std::string_view kCdiVersion = "0.5.0";
constexpr std::string_view kClass = "claim";

void SetUnlessEmpty(std::string_view name, Value array, Value& target) {
  if (!array.empty()) target.Set(name, std::move(array));
}

Value Texts(const std::vector<std::string>& texts) {
  Value array = Value::Array();
  for (const std::string& text : texts) array.Append(text);
  return array;
}

Value WriteEdits(const CdiEdits& edits) {
  Value env = Value::Array();
  for (const auto& [name, value] : edits.env) env.Append(fmt::format("{}={}", name, value));
  Value nodes = Value::Array();
  for (const CdiEdits::DeviceNode& node : edits.device_nodes) {
    Value entry = Value::Object({{"path", node.path}});
    if (!node.host_path.empty()) entry.Set("hostPath", node.host_path);
    nodes.Append(std::move(entry));
  }
  Value mounts = Value::Array();
  for (const CdiEdits::Mount& mount : edits.mounts) {
    mounts.Append(Value::Object({{"hostPath", mount.host_path},
                                 {"containerPath", mount.container_path},
                                 {"options", Texts(mount.options)}}));
  }
  Value hooks = Value::Array();
  for (const CdiEdits::Hook& hook : edits.hooks) {
    hooks.Append(Value::Object(
        {{"hookName", "createContainer"}, {"path", hook.path}, {"args", Texts(hook.args)}}));
  }
  Value value = Value::Object();
  SetUnlessEmpty("env", std::move(env), value);
  SetUnlessEmpty("deviceNodes", std::move(nodes), value);
  SetUnlessEmpty("mounts", std::move(mounts), value);
  SetUnlessEmpty("hooks", std::move(hooks), value);
  return value;
}

std::string NameOf(std::string_view claim_uid, std::string_view device) {
  return fmt::format("{}-{}", claim_uid, device);
}

}  // namespace

std::string CdiDeviceId(std::string_view vendor, std::string_view claim_uid,
                        std::string_view device) {
  return fmt::format("{}/{}={}", vendor, kClass, NameOf(claim_uid, device));
}

Value WriteCdiSpec(std::string_view vendor, std::string_view claim_uid, const CdiSpec& spec) {
  Value devices = Value::Array();
  for (const CdiDevice& device : spec.devices) {
    devices.Append(Value::Object(
        {{"name", NameOf(claim_uid, device.name)}, {"containerEdits", WriteEdits(device.edits)}}));
  }
  Value value = Value::Object({{"cdiVersion", kCdiVersion},
                               {"kind", fmt::format("{}/{}", vendor, kClass)},
                               {"devices", std::move(devices)}});
  Value common = WriteEdits(spec.common);
  if (!common.empty()) value.Set("containerEdits", std::move(common));
  return value;
}

std::string CdiFolder::FileOf(std::string_view claim_uid) const {
  return fmt::format("{}-{}_{}.json", vendor_, kClass, claim_uid);
}

Status CdiFolder::Write(std::string_view claim_uid, const Value& spec) {
  if (folder_ == nullptr) return {};
  const std::string file = FileOf(claim_uid);
  const std::string text = json::WritePretty(spec, 2) + "\n";
  DRA_ASSIGN(const std::optional<std::string> before, folder_->Read(file));
  if (before == text) return {};
  return folder_->Write(file, text);
}

Status CdiFolder::Remove(std::string_view claim_uid) {
  return folder_ == nullptr ? Status() : folder_->Remove(FileOf(claim_uid));
}

Result<std::vector<std::string>> CdiFolder::Claims() {
  std::vector<std::string> claims;
  if (folder_ == nullptr) return claims;
  DRA_ASSIGN(const std::vector<std::string> files, folder_->List());
  const std::string prefix = fmt::format("{}-{}_", vendor_, kClass);
  constexpr std::string_view kEnd = ".json";
  for (const std::string& file : files) {
    if (!file.starts_with(prefix) || !file.ends_with(kEnd)) continue;
    claims.push_back(file.substr(prefix.size(), file.size() - prefix.size() - kEnd.size()));
  }
  return claims;
}

}  // namespace drachma::node
