#include "faulty_driver.h"

#include <utility>

#include "client/objects.h"

namespace drachma::simulation {
namespace {

constexpr int kSlowMsMax = 20'000;

node::PrepareAnswer FailAll(std::span<const json::Value> claims) {
  node::PrepareAnswer answer;
  for (const json::Value& claim : claims) {
    answer.emplace(client::UidOf(claim), Fail(Code::kInternal, "the hardware does not answer"));
  }
  return answer;
}

}  // namespace

FaultyDriver::FaultyDriver(std::string node, std::unique_ptr<node::DraPlugin> inner,
                           Executor& executor, Chaos& chaos, PreparedClaims& prepared)
    : place_(std::move(node), inner->driver()),
      inner_(std::move(inner)),
      executor_(executor),
      chaos_(chaos),
      prepared_(prepared) {}

FaultyDriver::~FaultyDriver() { prepared_.erase(place_); }

void FaultyDriver::Prepare(std::span<const json::Value> claims, PrepareDone done) {
  if (chaos_.Happens(&FaultRates::prepare)) return done(FailAll(claims));
  const bool fails_after = chaos_.Happens(&FaultRates::prepare);
  const bool is_slow = chaos_.Happens(&FaultRates::prepare);
  inner_->Prepare(claims, [&, done = std::move(done)](node::PrepareAnswer answer) mutable {
    for (const auto& [uid, result] : answer) {
      if (result) prepared_[place_].insert(uid);
    }
    if (fails_after) answer = FailAll(claims);
    if (!is_slow) return done(std::move(answer));
    executor_.PostAfter(chaos_.Milliseconds(1, kSlowMsMax),
                        [done = std::move(done), answer = std::move(answer)]() mutable {
                          done(std::move(answer));
                        });
  });
}

void FaultyDriver::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  inner_->Unprepare(claims, [&, done = std::move(done)](node::UnprepareAnswer answer) mutable {
    for (const auto& [uid, status] : answer) {
      if (status) prepared_[place_].erase(uid);
    }
    done(std::move(answer));
  });
}

}  // namespace drachma::simulation
