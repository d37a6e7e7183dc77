#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/client.h"
#include "client/informer.h"
#include "controllers/controller.h"
#include "controllers/runner.h"

namespace drachma::controllers {

// The client that acts as an account of kube-system.
using ClientOfAccount = std::function<std::unique_ptr<client::Client>(std::string_view account)>;

// Controllers that share one copy of every resource: it is read through one client, each
// controller writes through that of its account. Belongs to the client's executor.
class ControllerSet {
 public:
  // Without `client_of` all write through `client`. `host` and `client` must outlive the set.
  ControllerSet(const std::vector<ControllerEntry>& entries, Host& host, client::Client& client,
                const ClientOfAccount& client_of = {});

  // Begins to follow the API server; each controller works once its resources have been listed. A
  // resource that the server does not have counts as empty and is asked for again every
  // kAskAgain. What CustomResourceDefinitions define is followed when a controller has asked for
  // its cache, for as long as it is defined.
  void Start();
  [[nodiscard]] bool synced() const;
  // Whether nothing is left to do until something changes or a delay ends.
  [[nodiscard]] bool AtRest() const;
  // Drops everything under way, for when nothing may be written any more.
  void Stop();

 private:
  static constexpr Duration kAskAgain = std::chrono::minutes(1);
  // For a resource that is defined, but not served yet.
  static constexpr Duration kAskAgainDefined = std::chrono::seconds(1);
  // After an error that does not say whether the resource is there.
  static constexpr Duration kAskAgainFailed = std::chrono::seconds(1);

  enum class Origin : std::uint8_t { kTable, kDefinition };

  struct Feed {
    Cache& cache;
    Origin origin;
    std::unique_ptr<client::Informer> informer;
    bool ready = false;  // listed, or known not to be there
  };

  std::shared_ptr<Feed> AddFeed(Cache& cache, Origin origin);
  void Ask(const std::shared_ptr<Feed>& feed);
  void OnAbsent(const std::shared_ptr<Feed>& feed);
  void SetReady(Feed& feed);
  void OnDefinition(const client::Change& change);
  void StartReadyRunners();

  Host& host_;
  client::Client& client_;
  std::map<std::string_view, std::unique_ptr<client::Client>> clients_;  // by account
  std::map<client::Resource, std::shared_ptr<Feed>> feeds_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<bool> started_;  // by runner
};

}  // namespace drachma::controllers
