#pragma once

#include <chrono>
#include <memory>

#include "base/executor.h"
#include "client/client.h"

namespace drachma::cluster {

// Makes the service account of the simulated nodes' DRA drivers and what it may do, where they are
// missing: a foreign API server knows neither. What may not be made is left out, since our own
// server grants it anyway. Returns at once; `client` must live until the answers have come.
void GrantDriverRights(client::Client& client);

// Makes the DeviceClasses that the simulated nodes' drivers ship, where they are missing, as their
// installation on a real cluster does. A server that does not answer is asked again; what may not
// be made is left out, with a warning. Belongs to `executor`; both must outlive it.
class DriverClasses {
 public:
  // Between attempts.
  static constexpr Duration kRetry = std::chrono::seconds(1);

  DriverClasses(client::Client& client, Executor& executor);
  ~DriverClasses();
  DriverClasses(const DriverClasses&) = delete;
  DriverClasses& operator=(const DriverClasses&) = delete;

  void Start();

 private:
  void Make(const json::Value& device_class);
  void OnAnswer(const json::Value& device_class, const Result<json::Value>& answer);

  client::Client& client_;
  Executor& executor_;
  // Answers and timers that come after the end find it gone.
  const std::shared_ptr<DriverClasses*> alive_;
};

}  // namespace drachma::cluster
