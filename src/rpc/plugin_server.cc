#include "rpc/plugin_server.h"

#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "health_v1.grpc.pb.h"
#include "pluginregistration.grpc.pb.h"
#include "rpc/convert.h"
#include "rpc/health_streams.h"
#include "rpc/pending_calls.h"
#include "rpc/sockets.h"

namespace drachma::rpc {
namespace {

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

constexpr const char* kHealthService = "v1.DRAResourceHealth";

// What services and the tasks that they post share.
struct Shared {
  Shared(node::DriverHost& the_host, Executor& the_executor)
      : host(&the_host), executor(the_executor) {}

  node::DriverHost* host;  // of the executor's tasks only; null once the server ends
  Executor& executor;
  const std::shared_ptr<PendingCalls> calls = std::make_shared<PendingCalls>();
  const std::shared_ptr<HealthStreams> streams = std::make_shared<HealthStreams>();
};
using SharedPtr = std::shared_ptr<Shared>;

// Carries a call out by `work(host, reply)` on the executor.
template <typename Response, typename Work>
ServerUnaryReactor* Hop(const SharedPtr& shared, CallbackServerContext* context, Response* response,
                        Work work) {
  ServerUnaryReactor* reactor = context->DefaultReactor();
  auto reply = shared->calls->Begin(reactor, response);
  if (!reply) return reactor;
  shared->executor.Post([shared, reply = std::move(*reply), work = std::move(work)]() mutable {
    if (shared->host != nullptr) work(*shared->host, std::move(reply));
  });
  return reactor;
}

template <typename Api>
class DraService final : public Api::Plugin::CallbackService {
 public:
  explicit DraService(SharedPtr shared) : shared_(std::move(shared)) {}

  ServerUnaryReactor* NodePrepareResources(CallbackServerContext* context,
                                           const typename Api::PrepareRequest* request,
                                           typename Api::PrepareResponse* response) override {
    return Hop(shared_, context, response,
               [claims = ClaimsOf(*request)](node::DriverHost& host, auto reply) {
                 host.Prepare(claims,
                              [reply = std::move(reply)](const node::PrepareAnswer& all) mutable {
                                reply.Answer([&](auto& to) { WriteAnswer(all, to); });
                              });
               });
  }

  ServerUnaryReactor* NodeUnprepareResources(CallbackServerContext* context,
                                             const typename Api::UnprepareRequest* request,
                                             typename Api::UnprepareResponse* response) override {
    return Hop(shared_, context, response,
               [claims = ClaimsOf(*request)](node::DriverHost& host, auto reply) {
                 host.Unprepare(
                     claims, [reply = std::move(reply)](const node::UnprepareAnswer& all) mutable {
                       reply.Answer([&](auto& to) { WriteAnswer(all, to); });
                     });
               });
  }

 private:
  const SharedPtr shared_;
};

v1::HealthStatus StatusOf(node::Health health) {
  switch (health) {
    case node::Health::kHealthy:
      return v1::HEALTHY;
    case node::Health::kUnhealthy:
      return v1::UNHEALTHY;
    case node::Health::kUnknown:
      return v1::UNKNOWN;
  }
  return v1::UNKNOWN;
}

// Sends what the host says of its devices to all who watch. On the executor.
void TellHealth(Shared& shared) {
  if (shared.host == nullptr) return;
  const Time now = shared.executor.clock().Now();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  HealthStreams::Message message;
  for (const node::DeviceHealth& health : shared.host->Health()) {
    v1::DeviceHealth& device = *message.add_devices();
    device.mutable_device()->set_pool_name(health.pool);
    device.mutable_device()->set_device_name(health.device);
    device.set_health(StatusOf(health.health));
    device.set_last_updated_time(seconds);
    device.set_message(health.message);
  }
  shared.streams->Send(message);
}

class HealthService final : public v1::DRAResourceHealth::CallbackService {
 public:
  explicit HealthService(SharedPtr shared) : shared_(std::move(shared)) {}

  HealthStreams::Reactor* NodeWatchResources(CallbackServerContext* /*context*/,
                                             const v1::NodeWatchResourcesRequest*) override {
    HealthStreams::Reactor* stream = shared_->streams->Open();
    shared_->executor.Post([shared = shared_] { TellHealth(*shared); });
    return stream;
  }

 private:
  const SharedPtr shared_;
};

class RegistrationService final : public pluginregistration::Registration::CallbackService {
 public:
  RegistrationService(SharedPtr shared, std::string driver, std::string endpoint)
      : shared_(std::move(shared)), driver_(std::move(driver)), endpoint_(std::move(endpoint)) {}

  ServerUnaryReactor* GetInfo(CallbackServerContext* context,
                              const pluginregistration::InfoRequest* /*request*/,
                              pluginregistration::PluginInfo* info) override {
    info->set_type("DRAPlugin");
    info->set_name(driver_);
    info->set_endpoint(endpoint_);
    for (const char* service : {V1::kService, V1beta1::kService, kHealthService}) {
      info->add_supported_versions(service);
    }
    ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  ServerUnaryReactor* NotifyRegistrationStatus(
      CallbackServerContext* context, const pluginregistration::RegistrationStatus* request,
      pluginregistration::RegistrationStatusResponse* response) override {
    Status status;
    if (!request->plugin_registered()) status = Fail(Code::kUnknown, request->error());
    return Hop(shared_, context, response, [status](node::DriverHost& host, auto reply) {
      host.OnRegistration(status);
      reply.Answer([](auto&) {});
    });
  }

 private:
  const SharedPtr shared_;
  const std::string driver_;
  const std::string endpoint_;
};

// A probe of liveness asks for "" or "liveness": whether the driver's thread answers at all. One of
// readiness asks for "readiness": whether a kubelet can use it and its devices are published.
class ProbeService final : public grpc::health::v1::Health::CallbackService {
 public:
  explicit ProbeService(SharedPtr shared) : shared_(std::move(shared)) {}

  ServerUnaryReactor* Check(CallbackServerContext* context,
                            const grpc::health::v1::HealthCheckRequest* request,
                            grpc::health::v1::HealthCheckResponse* response) override {
    using grpc::health::v1::HealthCheckResponse;
    const std::string& service = request->service();
    const bool readiness = service == "readiness";
    if (!readiness && !service.empty() && service != "liveness") {
      ServerUnaryReactor* reactor = context->DefaultReactor();
      reactor->Finish({grpc::StatusCode::NOT_FOUND, "unknown service: " + service});
      return reactor;
    }
    return Hop(shared_, context, response, [readiness](node::DriverHost& host, auto reply) {
      const bool well = !readiness || host.ready();
      reply.Answer([&](HealthCheckResponse& to) {
        to.set_status(well ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING);
      });
    });
  }

 private:
  const SharedPtr shared_;
};

void SetLimits(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(PluginServer::kMessageBytesMax);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             PluginServer::kStreamsPerConnectionMax);
  // grpc-go measures the bandwidth by pings, which are no attack.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
}

using ServerPtr = std::unique_ptr<grpc::Server>;

Result<ServerPtr> Listen(grpc::ServerBuilder& builder, const std::string& address, int* port) {
  SetLimits(builder);
  int bound = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &bound);
  ServerPtr server = builder.BuildAndStart();
  if (server == nullptr || bound == 0) {
    return Fail(Code::kUnavailable, fmt::format("cannot listen on {}", address));
  }
  if (port != nullptr) *port = bound;
  return server;
}

}  // namespace

class PluginServer::Impl {
 public:
  Impl(node::DriverHost& host, Executor& executor, const Options& options)
      : options_(options),
        shared_(std::make_shared<Shared>(host, executor)),
        v1_(shared_),
        v1beta1_(shared_),
        health_(shared_),
        registration_(shared_, std::string(host.driver()),
                      std::filesystem::absolute(options.service_socket).string()),
        probe_(shared_) {
    host.OnHealth([shared = shared_] { TellHealth(*shared); });
  }

  ~Impl() {
    shared_->host->OnHealth({});
    shared_->host = nullptr;
    shared_->calls->Stop();
    shared_->streams->Stop();
    // Whoever comes by the registration should find the service.
    for (auto server = servers_.rbegin(); server != servers_.rend(); ++server) {
      (*server)->Shutdown(std::chrono::system_clock::now());
    }
  }

  Status Start() {
    DRA_TRY(FreeSocketPath(options_.service_socket));
    DRA_TRY(FreeSocketPath(options_.registration_socket));
    {
      grpc::ServerBuilder builder;
      builder.RegisterService(&v1_).RegisterService(&v1beta1_).RegisterService(&health_);
      DRA_TRY(Add(builder, "unix:" + options_.service_socket, nullptr));
    }
    if (!options_.health_listen.empty()) {
      grpc::ServerBuilder builder;
      builder.RegisterService(&probe_);
      DRA_TRY(Add(builder, options_.health_listen, &health_port_));
    }
    grpc::ServerBuilder builder;
    builder.RegisterService(&registration_);
    builder.AddChannelArgument(
        GRPC_ARG_MAX_CONNECTION_IDLE_MS,
        static_cast<int>(
            std::chrono::milliseconds(
                std::chrono::duration_cast<std::chrono::milliseconds>(kRegistrationIdleMax))
                .count()));
    return Add(builder, "unix:" + options_.registration_socket, nullptr);
  }

  [[nodiscard]] int health_port() const { return health_port_; }

 private:
  Status Add(grpc::ServerBuilder& builder, const std::string& address, int* port) {
    DRA_ASSIGN(ServerPtr server, Listen(builder, address, port));
    servers_.push_back(std::move(server));
    return {};
  }

  const Options options_;
  const SharedPtr shared_;
  DraService<V1> v1_;
  DraService<V1beta1> v1beta1_;
  HealthService health_;
  RegistrationService registration_;
  ProbeService probe_;
  std::vector<ServerPtr> servers_;  // in the order in which they were started
  int health_port_ = 0;
};

Result<std::unique_ptr<PluginServer>> PluginServer::Start(Options options, node::DriverHost& host,
                                                          Executor& executor) {
  auto impl = std::make_unique<Impl>(host, executor, options);
  DRA_TRY(impl->Start());
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(impl)));
}

PluginServer::PluginServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PluginServer::~PluginServer() = default;

int PluginServer::health_port() const { return impl_->health_port(); }

}  // namespace drachma::rpc
