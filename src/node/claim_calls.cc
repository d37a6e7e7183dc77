#include "node/claim_calls.h"

#include <fmt/format.h>

#include <utility>

#include "base/log.h"
#include "client/objects.h"

namespace drachma::node {
namespace {

using json::Value;
namespace resources = client::resources;

// The claim that `ref` means. ERRORS: with upstream's texts.
Result<Value> Meant(const ClaimRef& ref, Result<Value> read) {
  const std::string name = fmt::format("{}/{}", ref.ns, ref.name);
  if (!read) {
    Error error = std::move(read.error());
    error.message = fmt::format("retrieve claim {}: {}", name, error.message);
    return std::unexpected(std::move(error));
  }
  if (client::UidOf(*read) != ref.uid) {
    return Fail(Code::kNotFound, fmt::format("claim {} got replaced", name));
  }
  if ((*read)["status"]["allocation"].IsNull()) {
    return Fail(Code::kConflict, fmt::format("claim {} not allocated", name));
  }
  return read;
}

// Whether nobody can use the devices of the claim any more.
bool IsGone(const ClaimRef& ref, const Result<Value>& read) {
  if (!read) return read.error().code == Code::kNotFound;
  if (client::UidOf(*read) != ref.uid) return true;
  const Value& status = (*read)["status"];
  return status["allocation"].IsNull() && status["reservedFor"].empty();
}

Error TooMany(const ClaimRef& ref) {
  return {.code = Code::kTooManyRequests,
          .message = fmt::format("claim {}/{}: {} calls are under way", ref.ns, ref.name,
                                 ClaimCalls::kCallsPerClaimMax)};
}

}  // namespace

// A call whose claims are answered one by one.
template <typename Answer>
struct ClaimCalls::Call {
  std::move_only_function<void(Answer)> done;
  std::size_t pending = 0;
  Answer answer = {};

  template <typename T>
  void Settle(const std::string& uid, T result) {
    answer.insert_or_assign(uid, std::move(result));
    if (--pending == 0) done(std::move(answer));
  }
};

bool ClaimCalls::Enter(const std::string& uid, Step step) {
  std::deque<Step>& lane = lanes_[uid];
  if (lane.size() >= kCallsPerClaimMax) return false;
  lane.push_back(std::move(step));
  if (lane.size() == 1) std::exchange(lane.front(), nullptr)();
  return true;
}

void ClaimCalls::Leave(const std::string& uid) {
  const auto lane = lanes_.find(uid);
  lane->second.pop_front();
  if (lane->second.empty()) {
    lanes_.erase(lane);
  } else {
    std::exchange(lane->second.front(), nullptr)();
  }
}

void ClaimCalls::Prepare(const std::vector<ClaimRef>& claims, DraPlugin::PrepareDone done) {
  if (claims.empty()) return done({});
  const auto call = std::make_shared<Call<PrepareAnswer>>(std::move(done), claims.size());
  for (const ClaimRef& claim : claims) {
    if (!Enter(claim.uid, [this, claim, call] { PrepareOne(claim, call); })) {
      call->Settle(claim.uid, PrepareResult(std::unexpected(TooMany(claim))));
    }
  }
}

void ClaimCalls::PrepareOne(const ClaimRef& claim,
                            const std::shared_ptr<Call<PrepareAnswer>>& call) {
  const auto settle = [this, claim, call](PrepareResult result) {
    call->Settle(claim.uid, std::move(result));
    Leave(claim.uid);
  };
  auto prepare = [this, claim, settle, alive = std::weak_ptr(alive_)](Result<Value> read) {
    const Result<Value> meant = Meant(claim, std::move(read));
    if (!meant) return settle(std::unexpected(meant.error()));
    plugin_.Prepare({&*meant, 1}, [claim, settle, alive](PrepareAnswer answer) {
      if (alive.expired()) return;
      const auto own = answer.find(claim.uid);
      settle(own != answer.end() ? std::move(own->second)
                                 : Fail(Code::kInternal, "the driver did not answer the claim"));
    });
  };
  client_.Call(client::GetRequest(resources::kResourceClaims, claim.ns, claim.name),
               [prepare = std::move(prepare), alive = std::weak_ptr(alive_)](Result<Value> read) {
                 if (!alive.expired()) prepare(std::move(read));
               });
}

void ClaimCalls::Unprepare(const std::vector<ClaimRef>& claims, DraPlugin::UnprepareDone done) {
  if (claims.empty()) return done({});
  const auto call = std::make_shared<Call<UnprepareAnswer>>(std::move(done), claims.size());
  for (const ClaimRef& claim : claims) {
    if (!Enter(claim.uid, [this, claim, call] { UnprepareOne(claim, call); })) {
      call->Settle(claim.uid, Status(std::unexpected(TooMany(claim))));
    }
  }
}

void ClaimCalls::UnprepareOne(const ClaimRef& claim,
                              const std::shared_ptr<Call<UnprepareAnswer>>& call) {
  plugin_.Unprepare(
      {&claim, 1}, [this, claim, call, alive = std::weak_ptr(alive_)](UnprepareAnswer answer) {
        if (alive.expired()) return;
        const auto own = answer.find(claim.uid);
        call->Settle(claim.uid, own != answer.end() ? std::move(own->second) : Status());
        Leave(claim.uid);
      });
}

void ClaimCalls::Sweep() {
  for (const auto& [claim, devices] : plugin_.Held()) {
    // Read in its turn, so that a claim which is being prepared is not taken for one that is not.
    // Too many calls are a sign of life.
    static_cast<void>(Enter(claim.uid, [this, claim = claim] { SweepOne(claim); }));
  }
}

void ClaimCalls::SweepOne(const ClaimRef& claim) {
  auto release = [this, claim](const Result<Value>& read) {
    if (!IsGone(claim, read)) return Leave(claim.uid);
    Log(LogLevel::kInfo, "node", "claim {}/{} ({}) is gone: giving its devices back", claim.ns,
        claim.name, claim.uid);
    UnprepareOne(claim, std::make_shared<Call<UnprepareAnswer>>(
                            [claim](const UnprepareAnswer& answer) {
                              const Status& status = answer.at(claim.uid);
                              if (status) return;
                              Log(LogLevel::kWarning, "node",
                                  "cannot give the devices of claim {}/{} back: {}", claim.ns,
                                  claim.name, status.error().message);
                            },
                            std::size_t{1}));
  };
  client_.Call(
      client::GetRequest(resources::kResourceClaims, claim.ns, claim.name),
      [release = std::move(release), alive = std::weak_ptr(alive_)](const Result<Value>& read) {
        if (!alive.expired()) release(read);
      });
}

}  // namespace drachma::node
