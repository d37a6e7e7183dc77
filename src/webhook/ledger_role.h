#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/client.h"
#include "client/informer.h"
#include "client/lease.h"
#include "webhook/ledger.h"
#include "webhook/review.h"

namespace drachma::webhook {

// The ledger of a running webhook: follows the claims and slices of an API server and judges writes
// to resourceclaims/status one after the other. Belongs to the client's executor.
class LedgerRole {
 public:
  struct Options {
    // After the first copy of the cluster is there nothing is judged for so long: what a process
    // before this one admitted shall be written, and seen, by then.
    Duration settle = std::chrono::seconds(5);
    Duration admitted_max = Ledger::kAdmittedMax;
    // Of several processes only the holder of the lease judges.
    bool leader_election = false;
    std::string identity;
  };
  // A refusal is looked at again after this: the copy may not show yet that a device is free.
  static constexpr Duration kSecondLook = std::chrono::milliseconds(200);

  // `client` must outlive the role.
  LedgerRole(client::Client& client, Options options);

  void Start();
  // Whether it judges.
  [[nodiscard]] bool ready() const { return state_ == State::kReady; }

  // Calls `done` with the verdict on a review. ERRORS (of the verdict): those of Ledger::Admit;
  // kUnavailable: not ready, and the reason.
  void Judge(Review review, std::function<void(const Status&)> done);

 private:
  enum class State : std::uint8_t { kReading, kStandby, kSettling, kReady };

  void OnSynced();
  void Settle();
  [[nodiscard]] Status JudgeNow(const Review& review);

  client::Client& client_;
  const Options options_;
  Ledger ledger_;
  client::Informer claims_;
  client::Informer slices_;
  client::LeaderElector elector_;
  State state_ = State::kReading;
  int unsynced_ = 2;
  int term_ = 0;  // of settling
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::webhook
