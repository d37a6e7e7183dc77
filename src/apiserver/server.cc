#include "apiserver/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "apiserver/admission_plugins.h"
#include "apiserver/audit.h"
#include "apiserver/authenticators.h"
#include "apiserver/bootstrap.h"
#include "apiserver/core.h"
#include "apiserver/credentials.h"
#include "apiserver/custom_resources.h"
#include "apiserver/definition_rules.h"
#include "apiserver/event_expiry.h"
#include "apiserver/fleet_authorizer.h"
#include "apiserver/http_front.h"
#include "apiserver/local_client.h"
#include "apiserver/node_authorizer.h"
#include "apiserver/policy_rules.h"
#include "apiserver/rbac.h"
#include "apiserver/runtime_config.h"
#include "apiserver/service_account_tokens.h"
#include "apiserver/subresources.h"
#include "apiserver/webhooks.h"
#include "net/certificates.h"
#include "store/store.h"

namespace drachma::apiserver {
namespace {

constexpr Duration kShutdownGrace = std::chrono::seconds(5);

// What a version allows is for who reads the flags to check: an emulated one has other locks.
Result<api::FeatureGates> GatesOf(const std::map<std::string, bool>& wanted) {
  api::FeatureGates gates;
  for (const auto& [name, on] : wanted) {
    const auto info = std::ranges::find(api::AllGates(), name, &api::GateInfo::name);
    if (info == api::AllGates().end()) {
      return Fail(Code::kBadRequest, "unrecognized feature gate: " + name);
    }
    gates.Set(info->gate, on);
  }
  return gates;
}

Result<std::unique_ptr<store::Store>> OpenStore(const std::string& folder) {
  if (folder.empty()) return store::OpenMemoryStore();
  store::SqliteOptions options;
  options.folder = folder;
  return store::OpenSqliteStore(options);
}

// Null without a path.
Result<std::shared_ptr<AuditLog>> OpenAudit(const std::string& path,
                                            const std::string& policy_file) {
  if (path.empty()) return nullptr;
  AuditPolicy policy;
  if (!policy_file.empty()) {
    DRA_ASSIGN(const std::string text, net::ReadFile(policy_file));
    DRA_ASSIGN(policy, AuditPolicy::Parse(text));
  }
  return AuditLog::Open(path, std::move(policy));
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)) {}

  ~Impl() {
    if (front_ != nullptr) front_->Shutdown(kShutdownGrace);
    OnExecutor([this] {
      front_.reset();
      if (webhooks_ != nullptr) webhooks_->Stop();
      if (own_executor_ != nullptr) own_executor_->Cancel(event_timer_);
      custom_resources_.reset();
      rbac_watch_.reset();
      if (core_ != nullptr) core_->Shutdown();
    });
    store_.reset();
    own_executor_.reset();
  }

  Status Start() {
    DRA_ASSIGN(const api::FeatureGates gates, GatesOf(options_.feature_gates));
    DRA_ASSIGN(store_, OpenStore(options_.data_dir));
    if (options_.executor == nullptr) {
      own_executor_ = std::make_unique<ThreadExecutor>("apiserver");
    }
    core_ = std::make_unique<Core>(
        *store_, executor(),
        Core::Options{.gates = gates,
                      .admission = {},
                      .webhooks = options_.webhooks,
                      .authorizers = options_.authorizers,
                      .watch_lag_events_max = options_.limits.watch_lag_events_max,
                      .seed = options_.seed});
    DRA_TRY(ApplyRuntimeConfig(options_.runtime_config, core_->kinds()));
    const Time now = executor().clock().Now();
    std::optional<ServerKeys> keys;
    if (!options_.listen.empty()) {
      DRA_ASSIGN(keys, LoadServerKeys(options_.data_dir, now));
    }
    Status assembled;
    OnExecutor([&] { assembled = Assemble(keys); });
    DRA_TRY(std::move(assembled));
    if (!keys) return {};
    keys_ = std::move(*keys);
    return Listen();
  }

  std::unique_ptr<client::ClientFactory> NewClientFactory(User user) {
    return MakeLocalClientFactory(*core_, std::move(user));
  }

  Result<std::string> KubeconfigFor(const User& user) const {
    if (front_ == nullptr) return Fail(Code::kUnavailable, "this server does not listen");
    return MakeKubeconfig(keys_, url_, user, RealClock().Now());
  }

  void SetReady(bool ready) {
    if (front_ != nullptr) front_->SetReady(ready);
  }
  void AddMetrics(std::function<std::string()> source) {
    if (front_ != nullptr) front_->AddMetrics(std::move(source));
  }

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& kubeconfig_path() const { return kubeconfig_path_; }
  [[nodiscard]] const std::string& kubeconfig() const { return kubeconfig_; }

 private:
  [[nodiscard]] Executor& executor() {
    return own_executor_ != nullptr ? *own_executor_ : *options_.executor;
  }

  // Runs `task` where the core lives and waits for it. The caller's own executor is its thread.
  void OnExecutor(const std::function<void()>& task) {
    if (own_executor_ == nullptr) return task();
    std::promise<void> done;
    own_executor_->Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  Status Assemble(const std::optional<ServerKeys>& keys) {
    auto rbac = std::make_shared<RbacAuthorizer>(*core_);
    core_->AddAuthorizer(
        std::make_shared<NodeAuthorizer>(*core_, std::make_unique<PodsOfNodes>(*store_)));
    core_->AddAuthorizer(std::make_shared<FleetAuthorizer>());
    core_->AddAuthorizer(rbac);
    DRA_TRY(FollowRoles(rbac));
    std::vector<std::shared_ptr<AdmissionPlugin>> further = options_.admission;
    further.push_back(std::make_shared<RbacEscalation>(*rbac));
    further.push_back(std::make_shared<DefinitionRules>());
    further.push_back(std::make_shared<PolicyRules>(*core_));
    DRA_TRY(AddPlugins(*core_, options_.enable_admission, options_.disable_admission, further));
    AddWebhooks();
    DRA_TRY(MakeAuthenticators(keys));
    DRA_TRY(Bootstrap(*core_));
    custom_resources_ = std::make_unique<CustomResources>(*core_);
    // Under virtual time a timer that never ends would keep the cluster from coming to rest.
    if (own_executor_ != nullptr) SweepEvents();
    return custom_resources_->Start();
  }

  void SweepEvents() {
    event_timer_ = own_executor_->PostAfter(kEventSweepInterval, [this] {
      ExpireEvents(*store_, own_executor_->clock().Now());
      SweepEvents();
    });
  }

  // Webhooks are called over the network: nothing for virtual time.
  void AddWebhooks() {
    if (own_executor_ == nullptr) return;
    webhooks_ = std::make_shared<Webhooks>(*core_);
    core_->AddWebhook(webhooks_);
  }

  // The rules of users are gathered again once roles or bindings have changed.
  Status FollowRoles(const std::shared_ptr<RbacAuthorizer>& rbac) {
    auto watch =
        store_->Subscribe("/registry/rbac.authorization.k8s.io/", store_->Current(), [this, rbac] {
          rbac->Invalidate();
          executor().Post([this] {
            if (rbac_watch_ != nullptr) (void)rbac_watch_->Take();
          });
        });
    if (!watch) return std::unexpected(std::move(watch.error()));
    rbac_watch_ = std::move(*watch);
    (void)rbac_watch_->Take();  // arms it
    return {};
  }

  Status MakeAuthenticators(const std::optional<ServerKeys>& keys) {
    authenticators_ = options_.authenticators;
    authenticators_.push_back(std::make_shared<CertificateAuthenticator>());
    if (!options_.token_auth_file.empty()) {
      DRA_ASSIGN(const std::shared_ptr<TokenFileAuthenticator> tokens,
                 TokenFileAuthenticator::FromFile(options_.token_auth_file));
      authenticators_.push_back(tokens);
    }
    Result<net::SigningKey> key = keys ? net::SigningKey::FromPem(keys->service_account_key_pem)
                                       : net::SigningKey::Generate();
    if (!key) return std::unexpected(std::move(key.error()));
    auto tokens = std::make_shared<ServiceAccountTokens>(*core_, executor().clock(),
                                                         core_->random(), std::move(*key));
    RegisterTokens(*core_, tokens, authenticators_);
    authenticators_.push_back(tokens);
    authenticators_.push_back(std::make_shared<UnknownTokenAuthenticator>());
    return {};
  }

  Status Listen() {
    auto tls = std::make_shared<net::TlsServerOptions>();
    tls->certificate_pem = keys_.server.certificate_pem;
    tls->key_pem = keys_.server.key_pem;
    tls->client_ca_pem = keys_.authority.certificate_pem;
    HttpFront::Options front;
    front.server.listen = {options_.listen};
    front.server.tls = std::move(tls);
    front.authenticators = authenticators_;
    front.limits = options_.limits;
    front.emulated_minor = options_.emulated_minor;
    DRA_ASSIGN(front.audit, OpenAudit(options_.audit_log_path, options_.audit_policy_file));
    DRA_ASSIGN(front_, HttpFront::Start(*core_, std::move(front)));
    url_ = "https://" + front_->address();
    DRA_ASSIGN(kubeconfig_, MakeKubeconfig(keys_, url_, AdminUser(), RealClock().Now()));
    kubeconfig_path_ = options_.kubeconfig;
    if (kubeconfig_path_.empty() && !options_.data_dir.empty()) {
      kubeconfig_path_ = options_.data_dir + "/kubeconfig";
    }
    if (kubeconfig_path_.empty()) return {};
    return net::WritePrivateFile(kubeconfig_path_, kubeconfig_);
  }

  Options options_;
  std::unique_ptr<ThreadExecutor> own_executor_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<Core> core_;
  std::unique_ptr<store::Watch> rbac_watch_;
  std::unique_ptr<CustomResources> custom_resources_;
  std::shared_ptr<Webhooks> webhooks_;  // null in virtual time
  std::vector<std::shared_ptr<Authenticator>> authenticators_;
  TimerId event_timer_ = 0;
  ServerKeys keys_;
  std::unique_ptr<HttpFront> front_;
  std::string url_;
  std::string kubeconfig_path_;
  std::string kubeconfig_;
};

Server::Server() = default;
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Create(Options options) {
  std::unique_ptr<Server> server(new Server());
  server->impl_ = std::make_unique<Impl>(std::move(options));
  DRA_TRY(server->impl_->Start());
  return server;
}

std::unique_ptr<client::ClientFactory> Server::NewClientFactory(User user) {
  return impl_->NewClientFactory(std::move(user));
}

const std::string& Server::url() const { return impl_->url(); }
const std::string& Server::kubeconfig_path() const { return impl_->kubeconfig_path(); }
const std::string& Server::kubeconfig() const { return impl_->kubeconfig(); }
Result<std::string> Server::KubeconfigFor(const User& user) const {
  return impl_->KubeconfigFor(user);
}
void Server::SetReady(bool ready) { impl_->SetReady(ready); }
void Server::AddMetrics(std::function<std::string()> source) {
  impl_->AddMetrics(std::move(source));
}

}  // namespace drachma::apiserver
