#include "webhook/ledger_role.h"

#include <memory>
#include <utility>

#include "base/log.h"
#include "client/objects.h"

namespace drachma::webhook {

LedgerRole::LedgerRole(client::Client& client, Options options)
    : client_(client),
      options_(std::move(options)),
      ledger_(client.executor().clock(), options_.admitted_max),
      claims_(client, {.resource = client::resources::kResourceClaims}),
      slices_(client, {.resource = client::resources::kResourceSlices}),
      elector_(client, {.name = "drachma-webhook", .identity = options_.identity}) {
  claims_.Listen([this](const client::Change& change) {
    if (change.type == client::Change::Type::kDeleted) {
      ledger_.RemoveClaim(change.object);
    } else {
      ledger_.PutClaim(change.object);
    }
  });
  slices_.Listen([this](const client::Change& change) {
    if (change.type == client::Change::Type::kDeleted) {
      ledger_.RemoveSlice(change.object);
    } else {
      ledger_.PutSlice(change.object);
    }
  });
}

void LedgerRole::Start() {
  const auto synced = [this] {
    if (--unsynced_ == 0) OnSynced();
  };
  claims_.Start(synced);
  slices_.Start(synced);
}

void LedgerRole::OnSynced() {
  if (!options_.leader_election) return Settle();
  state_ = State::kStandby;
  elector_.Start([this] { Settle(); },
                 [this] {
                   Log(LogLevel::kWarning, "webhook", "the lease is lost; another one judges");
                   state_ = State::kStandby;
                 });
}

void LedgerRole::Settle() {
  state_ = State::kSettling;
  const int term = ++term_;
  client_.executor().PostAfter(options_.settle, [this, term, weak = std::weak_ptr(alive_)] {
    if (weak.expired() || state_ != State::kSettling || term != term_) return;
    state_ = State::kReady;
    Log(LogLevel::kInfo, "webhook", "the ledger is ready");
  });
}

Status LedgerRole::JudgeNow(const Review& review) {
  if (!ready()) {
    return Fail(Code::kUnavailable, state_ == State::kStandby
                                        ? "another process holds the lease of the ledger"
                                        : "the ledger is still reading who holds which device");
  }
  return ledger_.Admit(review.old_object, review.object,
                       review.dry_run ? Ledger::DryRun::kYes : Ledger::DryRun::kNo);
}

void LedgerRole::Judge(Review review, std::function<void(const Status&)> done) {
  const bool concerned = review.operation == "UPDATE" && review.resource == "resourceclaims" &&
                         review.subresource == "status";
  if (!concerned) return done({});
  const Status verdict = JudgeNow(review);
  if (verdict || verdict.error().code != Code::kForbidden) return done(verdict);
  client_.executor().PostAfter(kSecondLook, [this, weak = std::weak_ptr(alive_),
                                             review = std::move(review), done = std::move(done)] {
    if (!weak.expired()) done(JudgeNow(review));
  });
}

}  // namespace drachma::webhook
