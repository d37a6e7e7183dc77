#include "node/simulated_nodes.h"

#include <utility>

#include "controllers/controller_set.h"
#include "node/node_worker.h"
#include "node/pod_worker.h"

namespace drachma::node {

class SimulatedNodes::Impl {
 public:
  Impl(SimulationOptions options, client::ClientFactory& factory, Executor& executor)
      : options_(std::move(options)),
        client_(factory.NewClient(executor, "drachma-node")),
        host_(executor.clock(), options_.seed),
        table_(options_) {
    host_.feature_gates = options_.feature_gates;
    constexpr std::size_t kNodesAtOnce = 64;
    constexpr std::size_t kPodsAtOnce = 1024;
    std::vector<controllers::ControllerEntry> entries = {
        {.name = "nodes",
         .component = "kubelet",
         .concurrency = kNodesAtOnce,
         .make =
             [this](controllers::Host& host) {
               auto worker = std::make_unique<NodeWorker>(host, table_);
               nodes_ = worker.get();
               return worker;
             }},
        {.name = "pods",
         .component = "kubelet",
         .concurrency = kPodsAtOnce,
         .make =
             [this](controllers::Host& host) {
               auto worker = std::make_unique<PodWorker>(host, table_);
               table_.OnStarted(
                   [pods = worker.get()](const std::string& node) { pods->OnNodeStarted(node); });
               return worker;
             }},
    };
    entries.insert(entries.end(), options_.driver_controllers.begin(),
                   options_.driver_controllers.end());
    set_ = std::make_unique<controllers::ControllerSet>(entries, host_, *client_);
  }

  void Start() {
    nodes_->RegisterAll();
    set_->Start();
  }
  [[nodiscard]] bool synced() const { return set_->synced(); }
  [[nodiscard]] bool registered() const { return set_->synced() && nodes_->registered(); }
  [[nodiscard]] std::size_t size() const { return table_.size(); }
  [[nodiscard]] bool AtRest() const { return set_->AtRest(); }

 private:
  const SimulationOptions options_;
  std::unique_ptr<client::Client> client_;
  controllers::Host host_;
  NodeTable table_;
  NodeWorker* nodes_ = nullptr;  // owned by set_
  std::unique_ptr<controllers::ControllerSet> set_;
};

SimulatedNodes::SimulatedNodes(SimulationOptions options, client::ClientFactory& factory,
                               Executor& executor)
    : impl_(std::make_unique<Impl>(std::move(options), factory, executor)) {}
SimulatedNodes::~SimulatedNodes() = default;

void SimulatedNodes::Start() { impl_->Start(); }
bool SimulatedNodes::synced() const { return impl_->synced(); }
bool SimulatedNodes::registered() const { return impl_->registered(); }
std::size_t SimulatedNodes::size() const { return impl_->size(); }
bool SimulatedNodes::AtRest() const { return impl_->AtRest(); }

}  // namespace drachma::node
