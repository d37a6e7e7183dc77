#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "base/executor.h"
#include "base/log.h"
#include "client/client.h"
#include "json/value.h"

namespace drachma::cluster {

// What a role brings to an API server that may lack it.
struct Shipped {
  json::Value object;
  LogLevel refused = LogLevel::kWarning;  // how it is told that the object may not be made
};
// Of the role `node`: the definitions of ComputeDomains, the drivers' DeviceClasses, their service
// account and what it may do. Our own server grants that anyway, so a refusal is no news there.
[[nodiscard]] std::vector<Shipped> ShippedWithNodes();
// Of the role `controllers`: the definitions, and the rights of the controller of ComputeDomains.
[[nodiscard]] std::vector<Shipped> ShippedWithControllers();

// Makes objects where they are missing, as an installation on a real cluster does. A server that
// does not answer is asked again; what may not be made is left out. Belongs to `executor`; both
// must outlive it.
class Installation {
 public:
  // Between attempts.
  static constexpr Duration kRetry = std::chrono::seconds(1);

  Installation(std::vector<Shipped> objects, client::Client& client, Executor& executor);
  ~Installation();
  Installation(const Installation&) = delete;
  Installation& operator=(const Installation&) = delete;

  void Start();

 private:
  void Make(const Shipped& shipped);
  void OnAnswer(const Shipped& shipped, const Result<json::Value>& answer);

  const std::vector<Shipped> objects_;
  client::Client& client_;
  Executor& executor_;
  // Answers and timers that come after the end find it gone.
  const std::shared_ptr<Installation*> alive_;
};

}  // namespace drachma::cluster
