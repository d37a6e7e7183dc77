#include "controllers/controllers.h"

#include <algorithm>
#include <utility>

#include "client/lease.h"
#include "controllers/controller_set.h"

namespace drachma::controllers {

namespace {

std::vector<ControllerEntry> Wanted(const Options& options, const Host& host) {
  std::vector<ControllerEntry> wanted;
  for (const ControllerEntry& entry : ControllerTable()) {
    const bool gate_on =
        entry.gate.empty() || host.Enabled(std::string(entry.gate), entry.gate_default);
    const bool named =
        options.only.empty() || std::ranges::find(options.only, entry.name) != options.only.end();
    if (gate_on && named) wanted.push_back(entry);
  }
  return wanted;
}

}  // namespace

class Controllers::Impl {
 public:
  Impl(Options options, client::ClientFactory& factory, Executor& executor)
      : options_(std::move(options)),
        client_(factory.NewClient(executor, "drachma-controllers")),
        host_(executor.clock(), options_.seed) {
    host_.feature_gates = options_.feature_gates;
    host_.root_ca = options_.root_ca;
    host_.watch_heartbeats = options_.watch_heartbeats;
    ClientOfAccount client_of;
    if (options_.client_of) {
      client_of = [this, &executor](std::string_view account) {
        return options_.client_of(executor, account);
      };
    }
    set_ = std::make_unique<ControllerSet>(Wanted(options_, host_), host_, *client_, client_of);
  }

  void Start() {
    if (!options_.leader_election) {
      set_->Start();
      return;
    }
    Random random = options_.seed != 0 ? Random(options_.seed) : Random::FromSystem();
    elector_ = std::make_unique<client::LeaderElector>(
        *client_, client::LeaderElector::Options{.name = "kube-controller-manager",
                                                 .identity = "drachma_" + random.Uuid()});
    elector_->Start([this] { set_->Start(); }, [this] { set_->Stop(); });
  }

  [[nodiscard]] bool synced() const { return set_->synced(); }
  [[nodiscard]] bool AtRest() const { return set_->AtRest(); }

 private:
  const Options options_;
  std::unique_ptr<client::Client> client_;
  Host host_;
  std::unique_ptr<ControllerSet> set_;
  std::unique_ptr<client::LeaderElector> elector_;
};

Controllers::Controllers(Options options, client::ClientFactory& factory, Executor& executor)
    : impl_(std::make_unique<Impl>(std::move(options), factory, executor)) {}
Controllers::~Controllers() = default;

void Controllers::Start() { impl_->Start(); }
bool Controllers::synced() const { return impl_->synced(); }
bool Controllers::AtRest() const { return impl_->AtRest(); }

}  // namespace drachma::controllers
