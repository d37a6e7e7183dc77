#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "node/dra_plugin.h"

namespace drachma::node {

// A kubelet's calls for claims on their way to a driver. A kubelet names claims only: here each is
// read from the API server, and what is not the claim that was meant is refused, so that a driver
// never acts on the devices of a claim of the same name that came later. Calls for one claim are
// carried out one after the other, in the order in which they came; a claim that takes long keeps
// no other one waiting. Source: kubeletplugin's nodePluginImplementation.
//
// Belongs to the client's executor, which is the plugin's too.
class ClaimCalls {
 public:
  // Calls for one claim that may be under way at once; a kubelet that gave up waiting asks again.
  // More are refused.
  static constexpr std::size_t kCallsPerClaimMax = 16;

  // Both must outlive it. Answers that are outstanding at its end are dropped.
  ClaimCalls(client::Client& client, DraPlugin& plugin) : client_(client), plugin_(plugin) {}
  ClaimCalls(const ClaimCalls&) = delete;
  ClaimCalls& operator=(const ClaimCalls&) = delete;

  // ERRORS, for each claim: those of reading it; kNotFound when it has been replaced by another one
  // of its name; kConflict while it is not allocated; kTooManyRequests; the driver's.
  void Prepare(const std::vector<ClaimRef>& claims, DraPlugin::PrepareDone done);
  // ERRORS, for each claim: kTooManyRequests; the driver's.
  void Unprepare(const std::vector<ClaimRef>& claims, DraPlugin::UnprepareDone done);

  // Gives back what the driver holds for claims that are gone, replaced, or not allocated to
  // anybody any more: a kubelet that lost its memory does not come back for them. What cannot be
  // read is left for the next time.
  void Sweep();

 private:
  template <typename Answer>
  struct Call;
  using Step = std::move_only_function<void()>;

  // Runs `step` once the calls for the claim before it are done; Leave() tells that it is.
  // False when too many wait.
  [[nodiscard]] bool Enter(const std::string& uid, Step step);
  void Leave(const std::string& uid);
  void PrepareOne(const ClaimRef& claim, const std::shared_ptr<Call<PrepareAnswer>>& call);
  void UnprepareOne(const ClaimRef& claim, const std::shared_ptr<Call<UnprepareAnswer>>& call);
  void SweepOne(const ClaimRef& claim);

  client::Client& client_;
  DraPlugin& plugin_;
  std::map<std::string, std::deque<Step>> lanes_;  // by claim uid; the first step is under way
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::node
