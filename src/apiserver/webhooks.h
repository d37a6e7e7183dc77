#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/core.h"
#include "apiserver/webhook_match.h"
#include "apiserver/webhook_review.h"
#include "base/result.h"
#include "net/http_client.h"

namespace drachma::apiserver {

// The admission webhooks that ValidatingWebhookConfigurations and MutatingWebhookConfigurations of
// the store declare (upstream's plugins of these names). Mutating ones are called one after the
// other, and once more in a second run (see Reinvocation) with reinvocationPolicy IfNeeded when the
// object has changed; validating ones all at once.
//
// Used on the server's executor only. Calls go over the network: not for virtual time.
class Webhooks final : public AsyncAdmission {
 public:
  // Clients of different webhooks kept with their connections; unused ones go first.
  static constexpr std::size_t kClientsMax = 32;
  // Of an answer; a longer one is a failed call.
  static constexpr std::size_t kResponseBytesMax = 16 * 1024 * 1024;

  // REQUIRES: `core` outlives this.
  explicit Webhooks(Core& core) : core_(core) {}
  ~Webhooks() override = default;

  [[nodiscard]] bool Handles(const AdmissionRequest& request, Phase phase) const override;
  // ERRORS: a refusal as the webhook gives it; kInternal for a failed call of a webhook whose
  // failurePolicy is Fail.
  void Review(AdmissionRequest& request, Phase phase, Done done) override;

  // Gives up all calls under way; their requests are not answered. Before the executor ends.
  void Stop();

 private:
  struct Chain;
  struct Fan;
  struct Client {
    std::unique_ptr<net::HttpClient> http;
    std::size_t calls = 0;
    std::uint64_t last_use = 0;
  };
  // Where a call goes.
  struct Target {
    std::string url;
    std::string shown_url;    // as the texts of errors name it
    std::string server_name;  // of the certificate, and the Host field; empty: those of the URL
  };
  using Answered = std::move_only_function<void(Result<WebhookVerdict>)>;

  [[nodiscard]] std::vector<json::Value> Hooks(Phase phase) const;
  [[nodiscard]] Result<std::optional<WebhookInvocation>> Match(
      const json::Value& hook, const AdmissionRequest& request) const;
  [[nodiscard]] Result<bool> ConditionsHold(const WebhookInvocation& invocation,
                                            const AdmissionRequest& request) const;
  [[nodiscard]] Result<json::Value> InForm(const json::Value& object, const ResourceKind& form,
                                           const AdmissionRequest& request) const;
  [[nodiscard]] Result<Target> TargetOf(const json::Value& hook) const;
  [[nodiscard]] Result<Target> TargetOfService(const json::Value& service) const;
  [[nodiscard]] Result<Client*> ClientFor(const json::Value& hook, const Target& target);
  // ERRORS of `answered`: kBadRequest with what stands after `failed calling webhook "x": `.
  void Call(const WebhookInvocation& invocation, const AdmissionRequest& request, Phase phase,
            Answered answered);
  void Mutate(const std::shared_ptr<Chain>& chain);
  // `key` tells the webhook apart from the others of the request.
  [[nodiscard]] Status Apply(AdmissionRequest& request, const std::string& key,
                             const WebhookInvocation& invocation, Result<WebhookVerdict> verdict);
  // The object as the patch makes it, in the storage version.
  [[nodiscard]] Result<json::Value> Patched(const WebhookInvocation& invocation,
                                            const AdmissionRequest& request,
                                            const json::Value& patch) const;
  void Validate(AdmissionRequest& request, Done done);

  Core& core_;
  std::map<std::string, Client> clients_;
  std::uint64_t uses_ = 0;
};

}  // namespace drachma::apiserver
