#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"

namespace drachma::controllers {

// A client that acts as a service account of kube-system by tokens that it asks for itself, and
// makes the account when it is missing (controller-manager's ClientBuilder with
// --use-service-account-credentials). Where the process may not ask for tokens, calls go out as
// the process's own user, with one warning. Watches always do: what controllers read, they share.
//
// Belongs to the executor of `own`.
class AccountClient final : public client::Client {
 public:
  // Asked for; the server may give less. A token is renewed after four fifths of its life.
  static constexpr int kTokenSeconds = 3600;
  // Between attempts to get a token.
  static constexpr Duration kRetryInterval = std::chrono::seconds(5);

  // A client that sends this token.
  using MakeClient = std::function<std::unique_ptr<client::Client>(std::string token)>;

  // `own` acts as the process's user.
  AccountClient(std::string account, std::unique_ptr<client::Client> own, MakeClient make);
  ~AccountClient() override;

  void Call(client::Request request, client::Callback done) override;
  [[nodiscard]] std::unique_ptr<client::Watch> StartWatch(client::Request request,
                                                          client::WatchHandler& handler) override;
  [[nodiscard]] Executor& executor() override { return own_->executor(); }

 private:
  // A token's client; kept until its last call is answered.
  struct Session {
    std::unique_ptr<client::Client> client;
    std::size_t calls = 0;
  };
  struct Waiting {
    client::Request request;
    client::Callback done;
  };

  enum class Refused : std::uint8_t { kNotYet, kBefore };
  void Send(client::Request request, client::Callback done, Refused refused);
  void Acquire();
  void OnToken(const Result<json::Value>& answer);
  void MakeAccount();
  void AcquireLater(Duration delay);
  void Flush();

  const std::string account_;
  const std::unique_ptr<client::Client> own_;
  const MakeClient make_;
  std::shared_ptr<Session> session_;  // null: no token yet, or it was refused
  std::vector<std::shared_ptr<Session>> retired_;
  bool as_own_user_ = false;  // tokens are refused to this process
  bool acquiring_ = false;
  std::vector<Waiting> waiting_;
  TimerId timer_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::controllers
