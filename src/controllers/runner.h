#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/client.h"
#include "client/event_recorder.h"
#include "client/work_queue.h"
#include "controllers/controller.h"

namespace drachma::controllers {

// Runs one controller: takes keys from its queue, makes the calls of its Work, and hands the key
// back once the caches hold what was written. Belongs to the controllers' executor.
class Runner {
 public:
  // A write that no watch confirms within this time (a broken connection) is taken as seen.
  static constexpr Duration kSeenTimeout = std::chrono::seconds(30);

  // `host`, `client` must outlive the runner.
  Runner(const ControllerEntry& entry, Host& host, client::Client& client);

  [[nodiscard]] const Controller& controller() const { return *controller_; }
  // Begins to take keys; those that came before wait.
  void Start();
  // Whether no key waits or is being handled; delays do not count.
  [[nodiscard]] bool AtRest() const;
  void Record(const EventToRecord& event);

 private:
  struct Batch;

  void Handle(const std::string& key, client::WorkQueue::Done done);
  void RunNext(const std::shared_ptr<Batch>& batch);
  void Call(const std::shared_ptr<Batch>& batch, std::size_t index);
  void OnAnswer(const std::shared_ptr<Batch>& batch, std::size_t index,
                const client::Request& request, Result<json::Value> answer);
  void AwaitSeen(const std::shared_ptr<Batch>& batch, const client::Request& request,
                 const json::Value& answer);
  void OneLess(const std::shared_ptr<Batch>& batch);
  void Finish(const std::shared_ptr<Batch>& batch);
  void LogOutcome(const Batch& batch);

  const std::string_view name_;
  Host& host_;
  client::Client& client_;
  client::EventRecorder recorder_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<client::WorkQueue> queue_;
  bool started_ = false;
  std::size_t handling_ = 0;
  // What was logged of keys that fail, by key: a try that fails alike says it no second time.
  std::map<std::string, std::string, std::less<>> logged_;
  std::vector<std::pair<std::string, Duration>> early_;  // keys from before Start
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::controllers
