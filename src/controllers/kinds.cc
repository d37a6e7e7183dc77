#include "controllers/kinds.h"

#include <string>

namespace drachma::controllers {

const std::vector<CollectedKind>& CollectedKinds() {
  static const std::vector<CollectedKind> kinds = [] {
    std::vector<CollectedKind> found;
    constexpr auto kNeeded = api::kVerbList | api::kVerbWatch | api::kVerbDelete;
    for (const api::KindInfo& info : api::AllKinds()) {
      if ((info.verbs & kNeeded) != kNeeded || info.Has(api::kNotStored)) continue;
      if (info.kind == "Event") continue;
      found.push_back(
          {.info = &info,
           .resource = {std::string(info.group), std::string(info.versions.front().version),
                        std::string(info.plural)}});
    }
    return found;
  }();
  return kinds;
}

}  // namespace drachma::controllers
