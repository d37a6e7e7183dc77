#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "node/dra_plugin.h"

namespace drachma::node {

// A driver for tests: remembers what it has prepared, and answers at once unless it is held.
class FakePlugin final : public DraPlugin {
 public:
  explicit FakePlugin(std::string driver = "gpu.nvidia.com") : driver_(std::move(driver)) {}

  [[nodiscard]] std::string_view driver() const override { return driver_; }
  void Prepare(std::span<const json::Value> claims, PrepareDone done) override {
    PrepareAnswer answer;
    for (const json::Value& claim : claims) {
      const json::Value& metadata = claim["metadata"];
      const std::string uid(metadata["uid"].AsString());
      calls_.push_back("prepare " + uid);
      if (!fault_.empty()) {
        answer.emplace(uid, Fail(Code::kInternal, fault_));
        continue;
      }
      const ClaimRef ref{.ns = std::string(metadata["namespace"].AsString()),
                         .name = std::string(metadata["name"].AsString()),
                         .uid = uid};
      held_.insert_or_assign(uid, HeldClaim{.claim = ref, .devices = {"gpu-0"}});
      answer.emplace(uid, std::vector<PreparedDevice>{
                              {.requests = {"gpu"},
                               .pool = "host",
                               .device = "gpu-0",
                               .cdi_device_ids = {"k8s.gpu.nvidia.com/claim=" + uid + "-gpu-0"},
                               .share_id = share_id_}});
    }
    Answer([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  }
  void Unprepare(std::span<const ClaimRef> claims, UnprepareDone done) override {
    UnprepareAnswer answer;
    for (const ClaimRef& claim : claims) {
      calls_.push_back("unprepare " + claim.uid);
      held_.erase(claim.uid);
      answer.emplace(claim.uid, Status());
    }
    Answer([done = std::move(done), answer = std::move(answer)]() mutable {
      done(std::move(answer));
    });
  }
  [[nodiscard]] std::vector<HeldClaim> Held() const override {
    std::vector<HeldClaim> held;
    for (const auto& [uid, claim] : held_) held.push_back(claim);
    return held;
  }
  [[nodiscard]] std::vector<Pool> Pools() const override { return pools_; }
  void OnPoolsChanged(std::function<void()> changed) override { changed_ = std::move(changed); }

  void SetPools(std::vector<Pool> pools) {
    pools_ = std::move(pools);
    if (changed_) changed_();
  }
  void Hold(ClaimRef claim) {
    held_.insert_or_assign(claim.uid, HeldClaim{.claim = claim, .devices = {"gpu-1"}});
  }
  // Every claim fails with this from now on; empty: none does.
  void FailWith(std::string fault) { fault_ = std::move(fault); }
  void ShareAs(std::string share_id) { share_id_ = std::move(share_id); }
  // Answers wait for Release().
  void HoldAnswers() { hold_answers_ = true; }
  void Release() {
    hold_answers_ = false;
    for (auto& answer : std::exchange(waiting_, {})) answer();
  }

  // "prepare UID" and "unprepare UID", in the order of the calls.
  [[nodiscard]] const std::vector<std::string>& calls() const { return calls_; }

 private:
  void Answer(std::move_only_function<void()> answer) {
    if (hold_answers_) {
      waiting_.push_back(std::move(answer));
    } else {
      answer();
    }
  }

  const std::string driver_;
  std::vector<Pool> pools_;
  std::function<void()> changed_;
  std::map<std::string, HeldClaim> held_;
  std::vector<std::string> calls_;
  std::string fault_;
  std::string share_id_;
  bool hold_answers_ = false;
  std::vector<std::move_only_function<void()>> waiting_;
};

}  // namespace drachma::node
