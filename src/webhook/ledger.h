#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "allocator/inventory.h"
#include "api/dra_types.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::webhook {

// Who holds which device, as far as it can be known by somebody whom every allocation must pass:
// what the API server shows, and what was admitted but is not seen yet. With it no two claims get
// one device, whoever allocates: schedulers check their own view only, and two of them may both see
// a device as free.
//
// An admitted write counts until its outcome is certain: the API server shows a newer revision of
// the claim than the one that was to be replaced (then it was written, or refused for a conflict),
// the claim is gone, or it can no longer be written since the API server gave up on the request.
//
// Single-threaded: the order of the calls is the order in which devices are given away.
class Ledger {
 public:
  // An API server ends requests after a minute by default; what was not seen after this never will.
  static constexpr Duration kAdmittedMax = std::chrono::seconds(90);
  // Admitted writes that are not seen yet; more are refused.
  static constexpr std::size_t kPendingMax = 100'000;

  enum class DryRun : std::uint8_t { kNo, kYes };

  // `clock` must outlive the ledger.
  explicit Ledger(const Clock& clock, Duration admitted_max = kAdmittedMax);

  // What the API server shows; resource.k8s.io/v1.
  void PutClaim(const json::Value& claim);
  void RemoveClaim(const json::Value& claim);
  void PutSlice(const json::Value& slice);
  void RemoveSlice(const json::Value& slice);

  // Whether the claim's new status may be written: nobody else holds a device that it newly
  // allocates; of devices with shares, and of the counters that parts of a device draw on, there is
  // enough. Devices with admin access are free. Unless it is a dry run, the devices are the claim's
  // from now on. A claim may be tried again with others.
  // ERRORS: kForbidden naming the device and who holds it; kBadRequest for an allocation that
  // cannot be read; kTooManyRequests beyond kPendingMax.
  [[nodiscard]] Status Admit(const json::Value& old_claim, const json::Value& new_claim,
                             DryRun dry_run);

  // Admitted writes that are not seen yet.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }

 private:
  using Results = std::vector<api::DeviceResult>;
  struct Holding {
    std::string uid;
    std::string claim;  // "namespace/name"
    Results results;    // without those of admin access
  };
  struct Pending {
    std::string uid;
    std::int64_t replaces = 0;  // the resourceVersion that the write was to replace
    Duration until{};
  };

  void Hold(const std::string& key, Holding holding);
  void Drop(const std::string& key);
  template <typename Predicate>
  void DropPending(const Predicate& decided);
  void Forget(std::string_view uid);
  [[nodiscard]] Status Check(const Holding& wanted);
  [[nodiscard]] Status CheckDevice(const Holding& wanted, std::size_t index);
  [[nodiscard]] Status CheckCapacity(const Holding& wanted, std::size_t index,
                                     const std::vector<const Holding*>& sharers) const;
  [[nodiscard]] std::vector<const Holding*> OthersOn(const allocator::DeviceId& id,
                                                     std::string_view uid) const;
  [[nodiscard]] std::string UsersOfCounters(const allocator::DeviceId& id,
                                            std::string_view uid) const;

  const Clock& clock_;
  const Duration admitted_max_;
  allocator::Inventory inventory_;  // counters
  // By key: the uid of what the API server shows, "uid@number" of what is pending.
  std::unordered_map<std::string, Holding> holdings_;
  std::map<allocator::DeviceId, std::vector<std::string>> holders_;  // keys
  std::map<std::string, Pending> pending_;
  struct Seen {
    std::string uid;
    std::int64_t revision = 0;
  };
  std::unordered_map<std::string, Seen> seen_;  // by "namespace/name"
  std::uint64_t next_ = 0;
};

}  // namespace drachma::webhook
