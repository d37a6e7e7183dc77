#include "controllers/account_client.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "client/objects.h"

namespace drachma::controllers {

using client::Callback;
using client::Request;
using json::Value;

namespace {

constexpr std::string_view kNamespace = "kube-system";

// When a token that ends at `expires` is to be replaced.
Duration RenewAfter(const Value& status, Time now) {
  const Result<Time> expires = ParseTime(status["expirationTimestamp"].AsString());
  const Duration life =
      expires ? *expires - now : Duration(std::chrono::seconds(AccountClient::kTokenSeconds));
  return std::max<Duration>(life * 4 / 5, AccountClient::kRetryInterval);
}

}  // namespace

AccountClient::AccountClient(std::string account, std::unique_ptr<client::Client> own,
                             MakeClient make)
    : account_(std::move(account)), own_(std::move(own)), make_(std::move(make)) {}

AccountClient::~AccountClient() { executor().Cancel(timer_); }

void AccountClient::Call(Request request, Callback done) {
  Send(std::move(request), std::move(done), Refused::kNotYet);
}

std::unique_ptr<client::Watch> AccountClient::StartWatch(Request request,
                                                         client::WatchHandler& handler) {
  return own_->StartWatch(std::move(request), handler);
}

void AccountClient::Send(Request request, Callback done, Refused refused) {
  if (as_own_user_) return own_->Call(std::move(request), std::move(done));
  if (session_ == nullptr) {
    waiting_.push_back({.request = std::move(request), .done = std::move(done)});
    return Acquire();
  }
  ++session_->calls;
  Request copy = request;
  session_->client->Call(std::move(copy), [this, alive = std::weak_ptr(alive_), session = session_,
                                           refused, request = std::move(request),
                                           done = std::move(done)](Result<Value> answer) mutable {
    if (alive.expired()) return;
    --session->calls;
    const bool stale = !answer && answer.error().code == Code::kUnauthorized;
    if (!stale || refused == Refused::kBefore) return done(std::move(answer));
    // The account was made anew, or the server has another key.
    if (session_ == session) retired_.push_back(std::exchange(session_, nullptr));
    Send(std::move(request), std::move(done), Refused::kBefore);
  });
}

void AccountClient::Acquire() {
  if (std::exchange(acquiring_, true)) return;
  Request request{.verb = client::Verb::kCreate,
                  .resource = client::resources::kServiceAccounts,
                  .ns = std::string(kNamespace),
                  .name = account_,
                  .subresource = "token"};
  request.body = Value::Object({{"apiVersion", "authentication.k8s.io/v1"},
                                {"kind", "TokenRequest"},
                                {"spec", Value::Object({{"expirationSeconds", kTokenSeconds}})}});
  own_->Call(std::move(request), [this, alive = std::weak_ptr(alive_)](Result<Value> answer) {
    if (!alive.expired()) OnToken(answer);
  });
}

void AccountClient::OnToken(const Result<Value>& answer) {
  acquiring_ = false;
  if (answer) {
    std::erase_if(retired_, [](const auto& session) { return session->calls == 0; });
    if (session_ != nullptr) retired_.push_back(std::move(session_));
    const Value& status = (*answer)["status"];
    session_ = std::make_shared<Session>();
    session_->client = make_(std::string(status["token"].AsString()));
    AcquireLater(RenewAfter(status, executor().clock().Now()));
    return Flush();
  }
  switch (answer.error().code) {
    case Code::kNotFound:
      return MakeAccount();
    case Code::kForbidden:
    case Code::kMethodNotAllowed:
      Log(LogLevel::kWarning, "controllers", "{} acts as the process's own user: {}", account_,
          answer.error().message);
      as_own_user_ = true;
      return Flush();
    default:
      Log(LogLevel::kWarning, "controllers", "token of {}: {}", account_, answer.error().message);
      return AcquireLater(kRetryInterval);
  }
}

void AccountClient::MakeAccount() {
  Value account =
      Value::Object({{"apiVersion", "v1"},
                     {"kind", "ServiceAccount"},
                     {"metadata", Value::Object({{"name", account_}, {"namespace", kNamespace}})}});
  acquiring_ = true;
  own_->Call(
      client::CreateRequest(client::resources::kServiceAccounts, kNamespace, std::move(account)),
      [this, alive = std::weak_ptr(alive_)](const Result<Value>& answer) {
        if (alive.expired()) return;
        acquiring_ = false;
        if (answer || answer.error().code == Code::kAlreadyExists) return Acquire();
        if (answer.error().code != Code::kForbidden) return AcquireLater(kRetryInterval);
        OnToken(std::unexpected(answer.error()));
      });
}

void AccountClient::AcquireLater(Duration delay) {
  executor().Cancel(timer_);
  timer_ = executor().PostAfter(delay, [this] { Acquire(); });
}

void AccountClient::Flush() {
  for (Waiting& waiting : std::exchange(waiting_, {})) {
    Send(std::move(waiting.request), std::move(waiting.done), Refused::kNotYet);
  }
}

}  // namespace drachma::controllers
