#include "controllers/kinds.h"

#include "api/kinds.h"
#include "client/objects.h"

namespace drachma::controllers {

const std::vector<CollectedKind>& CollectedKinds() {
  static const std::vector<CollectedKind> kinds = [] {
    std::vector<CollectedKind> found;
    constexpr auto kNeeded = api::kVerbList | api::kVerbWatch | api::kVerbDelete;
    for (const api::KindInfo& info : api::AllKinds()) {
      if ((info.verbs & kNeeded) != kNeeded || info.Has(api::kNotStored)) continue;
      if (info.kind == "Event") continue;
      found.push_back(
          {.kind = std::string(info.kind),
           .namespaced = info.namespaced(),
           .resource = {std::string(info.group), std::string(info.versions.front().version),
                        std::string(info.plural)}});
    }
    return found;
  }();
  return kinds;
}

std::optional<CollectedKind> KindOfDefinition(const json::Value& definition) {
  if (!client::IsConditionTrue(definition, "Established")) return std::nullopt;
  const json::Value& spec = definition["spec"];
  const json::Value* chosen = nullptr;
  for (const json::Value& version : spec["versions"].Items()) {
    if (!version["served"].AsBool()) continue;
    if (chosen == nullptr || version["storage"].AsBool()) chosen = &version;
  }
  if (chosen == nullptr) return std::nullopt;
  return CollectedKind{
      .kind = std::string(spec["names"]["kind"].AsString()),
      .namespaced = spec["scope"].AsString() == "Namespaced",
      .resource = {std::string(spec["group"].AsString()), std::string((*chosen)["name"].AsString()),
                   std::string(spec["names"]["plural"].AsString())}};
}

}  // namespace drachma::controllers
