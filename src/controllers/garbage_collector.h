#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/collecting_controller.h"
#include "controllers/objects.h"

namespace drachma::controllers {

inline constexpr std::string_view kForegroundFinalizer = "foregroundDeletion";
inline constexpr std::string_view kOrphanFinalizer = "orphan";

// Deletes what has lost all its owners, waits with an owner that is deleted in the foreground until
// the dependents that block it are gone, and frees dependents of an owner that orphans them
// (k8s.io/kubernetes/pkg/controller/garbagecollector). Owners and dependents are of any kind,
// custom ones too. Keys are "INDEX:NAMESPACE/NAME" with the index of the kind.
class GarbageCollector final : public CollectingController {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<GarbageCollector>(host);
  }
  explicit GarbageCollector(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  struct Item {
    std::size_t kind;
    const json::Value* object;
  };
  struct Owners {
    std::vector<const json::Value*> solid;     // exist, or nothing is known of their kind
    std::vector<const json::Value*> dangling;  // are gone
    std::vector<const json::Value*> waiting;   // wait for their dependents to go
    std::vector<Action> lookups;
  };

  void OnChange(std::size_t kind, const client::Change& change) override;
  void OnListed(std::size_t kind) override;
  void AddItem(std::size_t kind, const json::Value& object);
  void AddLeavingOwner(const json::Value& reference);
  [[nodiscard]] std::vector<Item> DependentsOf(std::string_view uid) const;
  [[nodiscard]] Owners ClassifyOwners(std::size_t kind, const json::Value& object,
                                      const std::string& key);
  [[nodiscard]] Work SyncLeaving(std::size_t kind, const json::Value& object);
  [[nodiscard]] Action Delete(std::size_t kind, const json::Value& object,
                              std::string_view propagation) const;
  // Makes `object` block none of its owners, then deletes it in the foreground.
  [[nodiscard]] Action UnblockAndDelete(std::size_t kind, const json::Value& object) const;

  // Keys that have an owner of a kind that was not known, by "GROUP/KIND".
  std::map<std::string, std::set<std::string>> undefined_;
  GoneUids gone_;
};

}  // namespace drachma::controllers
