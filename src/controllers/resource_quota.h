#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "controllers/collecting_controller.h"

namespace drachma::controllers {

// Counts what the objects of a namespace take and keeps it in the status of its quotas, so that
// what was given back can be taken again (k8s.io/kubernetes/pkg/controller/resourcequota). New
// objects are charged by the API server; this is for everything that goes, ends or changes, and for
// limits that are new. Keys are "namespace/name" of quotas.
class ResourceQuotaController final : public CollectingController {
 public:
  // All quotas are counted again this often, whatever happens (--resource-quota-sync-period).
  static constexpr Duration kResync = std::chrono::minutes(5);
  // A change is counted after this time, and only while the quota stays as it is for so long: the
  // copies of quotas and objects reach the controller one after the other, and what a quota was
  // charged for must not be taken for gone because it is not here yet.
  static constexpr Duration kSettle = std::chrono::milliseconds(100);

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<ResourceQuotaController>(host);
  }
  // What a quota was charged for has reached the copies by then, or was never made.
  static constexpr Duration kCatchUp = std::chrono::minutes(1);
  // The same where several kinds take of one name and the copy of one of them has it: most likely
  // nobody writes the others.
  static constexpr Duration kQuiet = std::chrono::seconds(5);

  explicit ResourceQuotaController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void OnQuota(const client::Change& change);
  void OnChange(std::size_t kind, const client::Change& change) override;
  void OnListed(std::size_t kind) override;
  enum class Copies : std::uint8_t { kUpToDate, kBehind };
  // `copies` says whether something may be used that is not in the copies yet: it counts as before.
  [[nodiscard]] json::Value UsedOf(const json::Value& quota, Copies& copies);
  [[nodiscard]] bool IsBehind(const Cache& cache, const std::string& quota,
                              const std::string& name) const;

  Cache& quotas_;
  std::map<std::string, Time> changed_;  // quotas: when they were seen to change last
  // By quota and name: the revision of the quota at which more was used than before. What it was
  // charged for was written after it.
  std::map<std::string, std::map<std::string, std::int64_t>> charged_;
};

}  // namespace drachma::controllers
