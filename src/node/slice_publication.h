#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "client/client.h"
#include "client/informer.h"
#include "client/work_queue.h"
#include "node/dra_plugin.h"

namespace drachma::node {

// Keeps the ResourceSlices of one driver on one node as the driver wants them. It follows its own
// slices, so what a kubelet wipes when it starts, or anybody deletes or changes, is back as soon as
// the change is seen. A write that fails is tried again after kRetryMin, doubling to kRetryMax.
//
// Belongs to the client's executor, which is the plugin's too.
class SlicePublication {
 public:
  static constexpr Duration kRetryMin = std::chrono::milliseconds(50);
  static constexpr Duration kRetryMax = std::chrono::seconds(10);
  // How long the view of the slices may lag behind our own writes before it is believed all the
  // same: after a restore of the server's data its versions start anew.
  static constexpr Duration kLagMax = std::chrono::seconds(5);

  // `on_error` gets each failed write. Client and plugin must outlive it.
  SlicePublication(std::string node, client::Client& client, DraPlugin& plugin,
                   std::function<void(const Error&)> on_error);
  ~SlicePublication();
  SlicePublication(const SlicePublication&) = delete;
  SlicePublication& operator=(const SlicePublication&) = delete;

  void Start();
  // The driver's pools have changed.
  void Refresh();
  // Whether the server has what the driver wants.
  [[nodiscard]] bool published() const { return published_; }

 private:
  struct Round;

  void Sync(client::WorkQueue::Done done);
  // `pools`, with generations above those that have been seen, should their slices have gone.
  [[nodiscard]] std::vector<Pool> Numbered(std::vector<Pool> pools) const;
  void Write(std::shared_ptr<Round> round);
  void OnWritten(const std::shared_ptr<Round>& round, Result<json::Value> answer);

  const std::string node_;
  client::Client& client_;
  DraPlugin& plugin_;
  const std::function<void(const Error&)> on_error_;
  client::Informer nodes_;
  client::Informer slices_;
  client::WorkQueue queue_;
  std::map<std::string, std::int64_t> generations_;  // the highest that was seen, by pool
  std::uint64_t written_ = 0;  // the resourceVersion that the view must have reached; 0: any
  Duration written_at_ = {};
  bool published_ = false;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::node
