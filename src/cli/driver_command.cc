#include "cli/driver_command.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "apiserver/process_metrics.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "client/https_client.h"
#include "client/kubeconfig.h"
#include "cluster/actor.h"
#include "gpu/open_driver.h"
#include "net/http_server.h"
#include "node/driver_host.h"
#include "node/folder.h"
#include "node/state_lock.h"
#include "rpc/plugin_server.h"
#include "rpc/sockets.h"

namespace drachma::cli {
namespace {

// What a flag of `drachma node` is for.
enum class Use : std::uint8_t { kSimulatedNodes, kRealNode, kSim, kNvml };
struct FlagUse {
  std::string_view flag;
  Use use;
};
constexpr FlagUse kFlags[] = {
    {"--fleet", Use::kSimulatedNodes},
    {"--plugins-registry", Use::kSimulatedNodes},
    {"--feature-gates", Use::kSimulatedNodes},
    {"--emulated-version", Use::kSimulatedNodes},
    {"--node-name", Use::kRealNode},
    {"--backend", Use::kRealNode},
    {"--cdi-dir", Use::kRealNode},
    {"--state-dir", Use::kRealNode},
    {"--pod-uid", Use::kRealNode},
    {"--healthz", Use::kRealNode},
    {"--metrics-listen", Use::kRealNode},
    {"--simulated-gpus", Use::kSim},
    {"--stand-in", Use::kSim},
    {"--driver-root", Use::kNvml},
    {"--dynamic-mig", Use::kNvml},
};

net::HttpResponse TextResponse(int status, std::string text) {
  net::HttpResponse response{.status = status, .body = {net::Share(std::move(text))}};
  response.headers.Add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
  return response;
}

// The driver with all that makes it a kubelet's: its host, its sockets, its metrics.
class DriverRole {
 public:
  DriverRole(const DriverArguments& arguments, client::ClientFactory& factory, Executor& executor)
      : arguments_(arguments),
        executor_(executor),
        client_(factory.NewClient(executor, "drachma-dra-driver")) {}

  // ERRORS: those of the hardware, the folders and the sockets.
  Status Start() {
    gpu::OpenDriverOptions options{.node_name = arguments_.node_name,
                                   .backend = arguments_.backend,
                                   .state_dir = arguments_.state_dir,
                                   .cdi_dir = arguments_.cdi_dir,
                                   .boot_id = node::ReadBootId(),
                                   .dynamic_mig = arguments_.dynamic_mig};
    if (options.state_dir.empty()) {
      options.state_dir = fmt::format("{}/plugins/{}", arguments_.kubelet_dir, gpu::kDriverName);
    }
    if (!arguments_.simulated_gpus.empty()) options.simulated_gpus = arguments_.simulated_gpus;
    if (!arguments_.stand_in.empty()) options.stand_in = arguments_.stand_in;
    if (!arguments_.driver_root.empty()) options.driver_root = arguments_.driver_root;
    DRA_ASSIGN(lock_, node::StateLock::Take(options.state_dir));
    DRA_ASSIGN(driver_, gpu::OpenDriver(options, executor_));
    host_.emplace(arguments_.node_name, *client_, *driver_);
    const rpc::PluginSockets sockets =
        rpc::SocketsOf(arguments_.kubelet_dir, driver_->driver(), arguments_.pod_uid);
    DRA_ASSIGN(server_, rpc::PluginServer::Start({.registration_socket = sockets.registration,
                                                  .service_socket = sockets.service,
                                                  .health_listen = arguments_.healthz},
                                                 *host_, executor_));
    host_->Start();
    return arguments_.metrics_listen.empty() ? Status() : ServeMetrics();
  }

 private:
  Status ServeMetrics() {
    DRA_ASSIGN(
        metrics_,
        net::HttpServer::Start(
            {.listen = {arguments_.metrics_listen}},
            [this, alive = std::weak_ptr(alive_)](const net::HttpRequest& request,
                                                  std::shared_ptr<net::HttpResponder> responder) {
              if (request.path() != "/metrics") {
                return responder->Respond(TextResponse(404, "not found: /metrics is\n"));
              }
              executor_.Post([this, alive, responder = std::move(responder)] {
                if (alive.expired()) return;
                responder->Respond(
                    TextResponse(200, host_->Metrics() + apiserver::ProcessMetricsText()));
              });
            }));
    return {};
  }

  const DriverArguments arguments_;
  Executor& executor_;
  const std::unique_ptr<client::Client> client_;
  std::optional<node::StateLock> lock_;
  std::unique_ptr<gpu::GpuDriver> driver_;
  std::optional<node::DriverHost> host_;
  std::unique_ptr<rpc::PluginServer> server_;
  std::unique_ptr<net::HttpServer> metrics_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace

Status CheckNodeFlags(const std::set<std::string>& given, const std::string& backend) {
  const bool real = given.contains("--kubelet-dir");
  for (const auto& [flag, use] : kFlags) {
    if (!given.contains(std::string(flag))) continue;
    if (!real && use != Use::kSimulatedNodes) {
      return BadInput(
          fmt::format("{} is for the driver of a real node and needs --kubelet-dir", flag));
    }
    if (real && use == Use::kSimulatedNodes) {
      return BadInput(
          fmt::format("{} is for simulated nodes and does not go with --kubelet-dir", flag));
    }
    if (use == Use::kSim && backend != "sim") {
      return BadInput(fmt::format("{} needs --backend sim", flag));
    }
    if (use == Use::kNvml && backend != "nvml") {
      return BadInput(fmt::format("{} needs --backend nvml", flag));
    }
  }
  if (real && !given.contains("--node-name")) {
    return BadInput("--kubelet-dir needs --node-name: the name of the Node that the kubelet has");
  }
  return {};
}

int RunDriver(const DriverArguments& arguments) {
  const auto config = client::LoadKubeConfig(client::SourcesFromEnvironment(arguments.kubeconfig));
  if (!config) return PrintError(config.error());
  const auto factory = client::HttpsClientFactory::Make(*config);
  if (!factory) return PrintError(factory.error());
  HoldSignals();
  cluster::Actor<DriverRole> role("driver", [&](Executor& executor) {
    return std::make_unique<DriverRole>(arguments, **factory, executor);
  });
  const Status started = role.Ask([](DriverRole& driver) { return driver.Start(); });
  if (!started) {
    return PrintError(started.error(),
                      started.error().code == Code::kBadRequest ? kWrongUse : kNegative);
  }
  Print(fmt::format("drachma drives the GPUs of {} for the kubelet in {}. Stop it with Ctrl-C.\n",
                    arguments.node_name, arguments.kubelet_dir));
  std::fflush(stdout);
  AwaitSignal();
  return kFine;
}

}  // namespace drachma::cli
