#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "chaos.h"
#include "client/client.h"

namespace drachma::simulation {

// Who looks at the traffic of all processes.
class Traffic {
 public:
  virtual ~Traffic() = default;
  virtual void OnRequest(const client::Request& request) = 0;
  // The server's answer to a request, whether or not it reaches the client.
  virtual void OnAnswer(const client::Request& request, const Result<json::Value>& answer) = 0;
};

class FaultyWatch;

// The watches that are open in the order they were opened, so that all can be cut at once.
using OpenWatches = std::vector<FaultyWatch*>;

// The network between one process and the API server.
class FaultyClient final : public client::Client {
 public:
  // All must outlive it.
  FaultyClient(std::unique_ptr<client::Client> inner, Chaos& chaos, Traffic& traffic,
               OpenWatches& open);
  ~FaultyClient() override;

  void Call(client::Request request, client::Callback done) override;
  [[nodiscard]] std::unique_ptr<client::Watch> StartWatch(client::Request request,
                                                          client::WatchHandler& handler) override;
  [[nodiscard]] Executor& executor() override { return inner_->executor(); }

 private:
  void Send(client::Request request, client::Callback done);
  // Calls back unless the client is gone by then.
  void AnswerAfter(Duration delay, client::Callback done, Result<json::Value> answer);

  const std::unique_ptr<client::Client> inner_;
  Chaos& chaos_;
  Traffic& traffic_;
  OpenWatches& open_;
  std::shared_ptr<FaultyClient*> self_;
};

class FaultyFactory final : public client::ClientFactory {
 public:
  FaultyFactory(client::ClientFactory& inner, Chaos& chaos, Traffic& traffic, OpenWatches& open)
      : inner_(inner), chaos_(chaos), traffic_(traffic), open_(open) {}

  std::unique_ptr<client::Client> NewClient(Executor& executor, std::string user_agent) override {
    return std::make_unique<FaultyClient>(inner_.NewClient(executor, std::move(user_agent)), chaos_,
                                          traffic_, open_);
  }

 private:
  client::ClientFactory& inner_;
  Chaos& chaos_;
  Traffic& traffic_;
  OpenWatches& open_;
};

// Ends all open watches with `error`.
void CutAll(const OpenWatches& open, const Error& error);

}  // namespace drachma::simulation
