#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "controllers/controller.h"
#include "controllers/cron_schedule.h"

namespace drachma::controllers {

// Starts the Jobs of CronJobs (k8s.io/kubernetes/pkg/controller/cronjob): schedule and time zone,
// concurrencyPolicy, suspend, startingDeadlineSeconds, history limits.
//
// A Job is named after its CronJob and the minute it is for, so that it is made once only; what
// status says of started Jobs is read from the Jobs themselves. Keys are "NAMESPACE/NAME".
class CronJobController final : public Controller {
 public:
  // Past the scheduled moment, so that a clock that is a little slow does not miss it.
  static constexpr Duration kPadding = std::chrono::milliseconds(100);
  // More missed starts than these are worth a warning.
  static constexpr std::int64_t kManyMissed = 100;

  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<CronJobController>(host);
  }
  explicit CronJobController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  [[nodiscard]] json::Value NextStatus(const json::Value& cron_job,
                                       const std::vector<const json::Value*>& jobs,
                                       Work& work) const;
  void RemoveOldJobs(const json::Value& cron_job, const std::vector<const json::Value*>& jobs,
                     Work& work);
  void Start(const json::Value& cron_job, const CronSchedule& schedule, Work& work);
  void Create(const json::Value& cron_job, Time scheduled, Work& work);
  void Delete(const json::Value& cron_job, const json::Value& job, Work& work);

  Cache& cron_jobs_;
  Cache& jobs_;
};

}  // namespace drachma::controllers
