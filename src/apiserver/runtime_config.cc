#include "apiserver/runtime_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace drachma::apiserver {
namespace {

using Settings = std::map<std::string, bool, std::less<>>;

Result<Settings> Parse(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? "true" : part.substr(equals + 1);
    if (value != "true" && value != "false" && !value.empty()) {
      return Fail(Code::kBadRequest, fmt::format("--runtime-config: invalid value of {}", part));
    }
    settings[std::string(part.substr(0, equals))] = value != "false";
  }
  return settings;
}

std::string_view StageOf(std::string_view version) {
  if (version.find("alpha") != std::string_view::npos) return "api/alpha";
  if (version.find("beta") != std::string_view::npos) return "api/beta";
  return "api/ga";
}

// The keys that may speak of a resource in a version, the most particular one first.
std::vector<std::string> KeysOf(const Kind& kind, std::string_view version) {
  const std::string api_version = kind.ApiVersion(version);
  return {fmt::format("{}/{}", api_version, kind.plural()), api_version,
          std::string(StageOf(version)), "api/all"};
}

Status RefuseUnknown(const Settings& settings, const KindTable& kinds) {
  for (const auto& [key, on] : settings) {
    const bool known = std::ranges::any_of(kinds.all(), [&](const KindPtr& kind) {
      return std::ranges::any_of(kind->info().versions, [&](const api::VersionInfo& version) {
        const std::vector<std::string> keys = KeysOf(*kind, version.version);
        return std::ranges::find(keys, key) != keys.end();
      });
    });
    if (!known && !key.starts_with("api/")) {
      return Fail(Code::kBadRequest, fmt::format("--runtime-config: there is no API {}", key));
    }
  }
  return {};
}

}  // namespace

Status ApplyRuntimeConfig(std::string_view text, KindTable& kinds) {
  DRA_ASSIGN(const Settings settings, Parse(text));
  DRA_TRY(RefuseUnknown(settings, kinds));
  kinds.Restrict([&](const Kind& kind, std::string_view version) {
    for (const std::string& key : KeysOf(kind, version)) {
      if (const auto found = settings.find(key); found != settings.end()) return found->second;
    }
    return true;
  });
  return {};
}

}  // namespace drachma::apiserver
