#include <memory>
#include <set>
#include <string>

#include "cli/driver_command.h"
#include "cli/flags.h"
#include "cli/output.h"

namespace drachma::cli {
namespace {

// The flags of the driver of a real node.
void AddDriver(CLI::App& command, DriverArguments& to) {
  const auto text = [&command](const char* name, std::string& value, const char* help,
                               const char* type) {
    command.add_option(name, value, help)->type_name(type);
  };
  text("--kubelet-dir", to.kubelet_dir,
       "Drive the GPUs of this machine for the kubelet with this root folder (/var/lib/kubelet)",
       "DIR");
  text("--node-name", to.node_name, "The kubelet's Node", "NAME");
  command
      .add_option("--backend", to.backend,
                  "nvml: the GPUs that are there (default); sim: simulated ones")
      ->check(CLI::IsMember({"nvml", "sim"}).description(""))
      ->type_name("NAME");
  text("--cdi-dir", to.cdi_dir,
       "Where the container runtime reads CDI specs (default /var/run/cdi)", "DIR");
  text("--state-dir", to.state_dir,
       "What the driver remembers over its end (default KUBELET-DIR/plugins/gpu.nvidia.com)",
       "DIR");
  text("--pod-uid", to.pod_uid,
       "Sockets with this in their names, apart from those of other pods of the driver", "UID");
  text("--healthz", to.healthz,
       "Serve gRPC's health protocol for probes there (services liveness and readiness): "
       "0.0.0.0:51516",
       "HOST:PORT");
  text("--metrics-listen", to.metrics_listen,
       "Serve Prometheus metrics at /metrics there: 0.0.0.0:8080", "HOST:PORT");
  text("--simulated-gpus", to.simulated_gpus,
       "With --backend sim: which GPUs (default \"H100-80GB x8\")", "GPUS");
  text("--stand-in", to.stand_in,
       "With --backend sim: the file that containers get as device nodes (default /dev/null)",
       "FILE");
  text("--driver-root", to.driver_root,
       "With --backend nvml: where the NVIDIA driver is installed (default /)", "DIR");
  command.add_flag("--dynamic-mig", to.dynamic_mig,
                   "With --backend nvml: make MIG devices when claims want them");
}

}  // namespace

void AddUp(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<UpArguments>();
  CLI::App* command = AddCommand(
      app, "up", "Run a whole cluster in this process: API server, controllers, scheduler, nodes",
      "drachma up --fleet dgx-h100 --data-dir /tmp/cluster --listen 127.0.0.1:0");
  AddFleet(*command, arguments->fleet);
  command
      ->add_option("--data-dir", arguments->data_dir,
                   "Where the cluster is kept (default ~/.local/state/drachma)")
      ->type_name("DIR");
  command->add_flag("--ephemeral", arguments->ephemeral, "Keep everything in memory");
  command
      ->add_option("--listen", arguments->listen,
                   "Address of the API server (default 127.0.0.1:6443; port 0: a free one)")
      ->type_name("HOST:PORT");
  command
      ->add_option("--kubeconfig", arguments->kubeconfig,
                   "Where to write the kubeconfig (default kubeconfig in the data folder)")
      ->type_name("FILE");
  AddFiles(*command, arguments->files, false);
  command
      ->add_option("--roles", arguments->roles,
                   "Some of apiserver,controllers,scheduler,nodes (default all)")
      ->type_name("ROLES");
  command
      ->add_option("--enable-admission-plugins", arguments->enable_admission,
                   "Admission plugins to switch on")
      ->delimiter(',');
  command
      ->add_option("--disable-admission-plugins", arguments->disable_admission,
                   "Admission plugins to switch off")
      ->delimiter(',');
  command->add_option("--token-auth-file", arguments->token_auth_file, "Bearer tokens and users")
      ->type_name("FILE");
  command
      ->add_option("--runtime-config", arguments->runtime_config,
                   "API versions to switch off: resource.k8s.io/v1beta1=false,api/alpha=false")
      ->type_name("APIS");
  command
      ->add_option("--audit-log-path", arguments->audit_log_path,
                   "Record the requests to the API server there, a line of JSON each; - is the "
                   "standard output")
      ->type_name("FILE");
  command
      ->add_option("--audit-policy-file", arguments->audit_policy_file,
                   "Which requests are recorded and how much of them; without it the metadata "
                   "of all")
      ->type_name("FILE");
  AddLimits(*command, arguments->limits);
  AddScheduling(*command, arguments->plane);
  AddImexMode(*command, arguments->plane);
  command->callback([&run, arguments] { run = [arguments] { return RunUp(*arguments); }; });
}

void AddRoles(CLI::App& app, Run& run) {
  auto scheduler = std::make_shared<RoleArguments>();
  CLI::App* command = AddCommand(app, "scheduler", "Run the scheduler against an API server",
                                 "drachma scheduler --kubeconfig admin.conf --leader-elect");
  AddKubeconfig(*command, scheduler->kubeconfig);
  command
      ->add_option("--scheduler-name", scheduler->scheduler_name,
                   "spec.schedulerName of its pods (default default-scheduler)")
      ->type_name("NAME");
  command->add_flag("--leader-elect", scheduler->leader_elect, "Work only while holding the lease");
  AddScheduling(*command, scheduler->plane);
  command->callback([&run, scheduler] { run = [scheduler] { return RunScheduler(*scheduler); }; });

  auto controllers = std::make_shared<RoleArguments>();
  command = AddCommand(app, "controllers", "Run the controllers against an API server",
                       "drachma controllers --kubeconfig admin.conf");
  AddKubeconfig(*command, controllers->kubeconfig);
  command->add_option("--controllers", controllers->controllers, "Only these (default all)")
      ->delimiter(',');
  command->add_flag("--leader-elect", controllers->leader_elect,
                    "Work only while holding the lease");
  command
      ->add_option("--use-service-account-credentials", controllers->account_credentials,
                   "Each controller writes as its own service account (default true)")
      ->type_name("BOOL");
  AddGates(*command, controllers->plane);
  AddImexMode(*command, controllers->plane);
  command->callback(
      [&run, controllers] { run = [controllers] { return RunControllers(*controllers); }; });
}

void AddNode(CLI::App& app, Run& run) {
  auto node = std::make_shared<RoleArguments>();
  auto driver = std::make_shared<DriverArguments>();
  CLI::App* command = AddCommand(
      app, "node",
      "Simulate nodes with their kubelets against an API server, or drive the GPUs of a real node",
      "drachma node --kubeconfig admin.conf --fleet dgx-h100\n"
      "  drachma node --kubelet-dir /var/lib/kubelet --node-name $(hostname) --backend nvml\n"
      "  drachma node --kubelet-dir /var/lib/kubelet --node-name n1 --backend sim "
      "--simulated-gpus \"A100-80GB x4\"");
  AddKubeconfig(*command, node->kubeconfig);
  AddFleet(*command, node->fleet);
  command
      ->add_option("--plugins-registry", node->plugins_registry,
                   "Simulated nodes use the DRA drivers whose sockets are in this folder of a "
                   "kubelet, too")
      ->type_name("DIR");
  AddGates(*command, node->plane);
  AddImexMode(*command, node->plane);
  AddDriver(*command, *driver);
  command->callback([&run, node, driver, command] {
    std::set<std::string> given;
    for (const CLI::Option* option : command->get_options()) {
      if (option->count() == 0) continue;
      for (const std::string& name : option->get_lnames()) given.insert("--" + name);
    }
    driver->kubeconfig = node->kubeconfig;
    run = [node, driver, given] {
      if (const Status fit = CheckNodeFlags(given, driver->backend); !fit) {
        return PrintError(fit.error(), kWrongUse);
      }
      return given.contains("--kubelet-dir") ? RunDriver(*driver) : RunNode(*node);
    };
  });
}

}  // namespace drachma::cli
