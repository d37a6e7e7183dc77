#include "controllers/controllers.h"

#include <algorithm>
#include <utility>

#include "client/informer.h"
#include "client/lease.h"
#include "controllers/runner.h"

namespace drachma::controllers {

class Controllers::Impl {
 public:
  Impl(Options options, client::ClientFactory& factory, Executor& executor)
      : options_(std::move(options)),
        client_(factory.NewClient(executor, "drachma-controllers")),
        host_(executor.clock(), options_.seed) {
    host_.feature_gates = options_.feature_gates;
    host_.root_ca = options_.root_ca;
    host_.watch_heartbeats = options_.watch_heartbeats;
    for (const ControllerEntry& entry : ControllerTable()) {
      if (Wanted(entry)) runners_.push_back(std::make_unique<Runner>(entry, host_, *client_));
    }
    for (const auto& [resource, cache] : host_.caches.all()) {
      informers_.push_back(std::make_unique<client::Informer>(
          *client_, client::Informer::Options{.resource = resource}));
      informers_.back()->Listen(
          [&cache = *cache](const client::Change& change) { cache.Apply(change); });
    }
  }

  void Start() {
    if (!options_.leader_election) {
      Begin();
      return;
    }
    Random random = options_.seed != 0 ? Random(options_.seed) : Random::FromSystem();
    elector_ = std::make_unique<client::LeaderElector>(
        *client_, client::LeaderElector::Options{.name = "kube-controller-manager",
                                                 .identity = "drachma_" + random.Uuid()});
    elector_->Start([this] { Begin(); }, [this] { Stop(); });
  }

  [[nodiscard]] bool synced() const {
    return std::ranges::all_of(informers_, [](const auto& i) { return i->synced(); });
  }
  [[nodiscard]] bool AtRest() const {
    return synced() && std::ranges::all_of(runners_, [](const auto& r) { return r->AtRest(); });
  }

 private:
  bool Wanted(const ControllerEntry& entry) const {
    if (!entry.gate.empty() && !host_.Enabled(std::string(entry.gate), entry.gate_default)) {
      return false;
    }
    return options_.only.empty() ||
           std::ranges::find(options_.only, entry.name) != options_.only.end();
  }

  void Begin() {
    for (std::size_t i = 0; i < informers_.size(); ++i) {
      informers_[i]->Start([this] { StartReadyRunners(); });
    }
  }

  // A controller works once its own resources are there: a server that lacks one of the others'
  // resources does not hold it up.
  void StartReadyRunners() {
    std::size_t index = 0;
    std::map<client::Resource, bool> synced;
    for (const auto& [resource, cache] : host_.caches.all()) {
      synced[resource] = informers_[index++]->synced();
    }
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      if (std::ranges::find(started_, i) != started_.end()) continue;
      const auto& watched = runners_[i]->controller().watched();
      if (!std::ranges::all_of(watched, [&](const auto& r) { return synced[r]; })) continue;
      started_.push_back(i);
      runners_[i]->Start();
    }
  }

  // The lease is lost: nothing may be written any more. Runners drop what is under way.
  void Stop() {
    runners_.clear();
    informers_.clear();
  }

  const Options options_;
  std::unique_ptr<client::Client> client_;
  Host host_;
  std::vector<std::unique_ptr<client::Informer>> informers_;
  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<std::size_t> started_;
  std::unique_ptr<client::LeaderElector> elector_;
};

Controllers::Controllers(Options options, client::ClientFactory& factory, Executor& executor)
    : impl_(std::make_unique<Impl>(std::move(options), factory, executor)) {}
Controllers::~Controllers() = default;

void Controllers::Start() { impl_->Start(); }
bool Controllers::synced() const { return impl_->synced(); }
bool Controllers::AtRest() const { return impl_->AtRest(); }

}  // namespace drachma::controllers
