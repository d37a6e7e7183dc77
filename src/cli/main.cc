// The program: what users type, turned into the arguments of one command.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/check_command.h"
#include "cli/convert_command.h"
#include "cli/debug_allocate.h"
#include "cli/debug_cel.h"
#include "cli/explain_command.h"
#include "cli/flags.h"
#include "cli/output.h"

namespace drachma::cli {
namespace {

constexpr const char* kVersion = "drachma 0.1.0 (Kubernetes 1.37.2)";

void AddPlan(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command = AddCommand(
      app, "plan", "Tell where every pod would go and which devices it would get, without a server",
      "drachma plan -f examples/quickstart.yaml --fleet dgx-h100\n"
      "  drachma plan -f examples/preemption.yaml --what-if examples/preemption-urgent.yaml "
      "--fleet "
      "dgx-h100");
  AddFiles(*command, arguments->files, true);
  AddFleet(*command, arguments->fleet);
  command->add_option("--what-if", arguments->what_if, "Apply these once the plan is at rest")
      ->type_name("FILE");
  command->add_option("--remove", arguments->remove, "Remove this once the plan is at rest")
      ->type_name("KIND/NAME");
  command
      ->add_option("--set-priority", arguments->priorities,
                   "Give a pod this priority once the plan is at rest")
      ->type_name("POD=N");
  command
      ->add_option("--horizon", arguments->horizon_seconds,
                   "Seconds of virtual time to look on after everything is at rest (default 60)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("SECONDS");
  AddScheduling(*command, arguments->plane);
  AddImexMode(*command, arguments->plane);
  AddOutput(*command, arguments->output);
  command->callback([&run, arguments] { run = [arguments] { return RunPlan(*arguments); }; });
}

void AddApply(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ApplyArguments>();
  CLI::App* command = AddCommand(app, "apply", "Write manifests to an API server, without kubectl",
                                 "drachma apply -f examples/quickstart.yaml");
  AddFiles(*command, arguments->files, true);
  AddKubeconfig(*command, arguments->kubeconfig);
  command->callback([&run, arguments] { run = [arguments] { return RunApply(*arguments); }; });
}

void AddGet(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<GetArguments>();
  CLI::App* command = AddCommand(app, "get", "List objects of an API server, without kubectl",
                                 "drachma get resourceclaims -A");
  command->add_option("kind", arguments->kind, "pods, resourceclaims, nodes, …")->required();
  command->add_option("-n,--namespace", arguments->ns, "Namespace (default: the context's)")
      ->type_name("NS");
  command->add_flag("-A,--all-namespaces", arguments->all_namespaces, "All namespaces");
  AddKubeconfig(*command, arguments->kubeconfig);
  AddOutput(*command, arguments->output);
  command->callback([&run, arguments] { run = [arguments] { return RunGet(*arguments); }; });
}

void AddCheck(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command =
      AddCommand(app, "check", "Find faults of manifests, with line and column, and correct them",
                 "drachma check -f examples/from-a-blog.yaml          # shows the corrected form\n"
                 "  drachma check -f - --fix < old.yaml | kubectl apply -f -");
  AddFiles(*command, arguments->files, true);
  command->add_flag("--fix", arguments->fix,
                    "Correct the files in place (- to standard output); comments and order stay");
  command
      ->add_option("--driver", arguments->driver,
                   "The driver of names without domain (default gpu.nvidia.com)")
      ->type_name("DRIVER");
  command
      ->add_option("-o,--output", arguments->output,
                   "Form of the output: table (the default), json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->type_name("FORM");
  command->callback([&run, arguments] {
    run = [arguments] { return RunCheck(*arguments, std::cout, std::cerr); };
  });
}

void AddCel(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<CelArguments>();
  CLI::App* command =
      AddCommand(app, "cel", "Evaluate a selector on every device, and say why it does not match",
                 "drachma cel \"device.driver == 'gpu.nvidia.com'\" -f slices.yaml\n"
                 "  drachma cel \"device.driver == 'gpu.nvidia.com'\" --fleet dgx-h100");
  command->add_option("expression", arguments->expression, "The CEL expression")->required();
  command
      ->add_option(
          "-f,--filename", arguments->files,
          "Files with ResourceSlices; - for standard input (default: those of the API server)")
      ->type_name("FILE");
  command
      ->add_option(
          "--fleet", arguments->fleet,
          "Try it on the devices of a fleet: a built-in one (drachma fleet list) or a file")
      ->type_name("NAME|FILE");
  AddKubeconfig(*command, arguments->kubeconfig);
  AddOutput(*command, arguments->output);
  command->callback(
      [&run, arguments] { run = [arguments] { return RunCelOnSlices(*arguments); }; });
}

void AddExplain(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = AddCommand(
      app, "explain", "Say why a pod, a claim or a device waits or is held, and what would help",
      "drachma explain pod/training-0 -n ml\n"
      "  drachma explain resourceclaim/shared\n"
      "  drachma explain device/gpu.nvidia.com/h100-0/gpu-1\n"
      "  drachma explain deployment/training -o json");
  command
      ->add_option("target", arguments->target,
                   "pod/NAME, resourceclaim/NAME, device/DRIVER/POOL/DEVICE, deployment/NAME, …")
      ->type_name("KIND/NAME")
      ->required();
  command->add_option("name", arguments->name, "The name, when only the kind stands before it")
      ->type_name("NAME");
  command->add_option("-n,--namespace", arguments->ns, "Namespace (default: the context's)")
      ->type_name("NS");
  AddScheduling(*command, arguments->plane);
  AddKubeconfig(*command, arguments->kubeconfig);
  AddOutput(*command, arguments->output);
  command->callback([&run, arguments] { run = [arguments] { return RunExplain(*arguments); }; });
}

void AddTop(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* command =
      AddCommand(app, "top", "Count devices by model and state", "drachma top -o json");
  AddKubeconfig(*command, arguments->kubeconfig);
  AddOutput(*command, arguments->output);
  command->callback([&run, arguments] { run = [arguments] { return RunTop(*arguments); }; });
}

void AddDrain(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<DrainArguments>();
  const auto add_target = [arguments](CLI::App& command) {
    command.add_option("kind", arguments->kind, "device or node")->type_name("KIND")->required();
    command
        .add_option("name", arguments->name,
                    "DRIVER/POOL/DEVICE, DRIVER/POOL for all devices of a pool, or a node's name")
        ->type_name("NAME");
    command.add_flag("--dry-run", arguments->dry_run,
                     "Tell what would be done, and change nothing");
    AddKubeconfig(command, arguments->kubeconfig);
    AddOutput(command, arguments->output);
  };
  CLI::App* drain =
      AddCommand(app, "drain", "Taint devices, show who holds them, and wait until nobody does",
                 "drachma drain device gpu.nvidia.com/h100-0/gpu-1 --reason \"XID 79\"\n"
                 "  drachma drain device gpu.nvidia.com/h100-0 --effect NoSchedule\n"
                 "  drachma drain node h100-0 --timeout 10m");
  add_target(*drain);
  drain
      ->add_option("--effect", arguments->effect,
                   "NoExecute evicts the pods, NoSchedule only keeps new ones away (default "
                   "NoExecute)")
      ->check(CLI::IsMember({"NoExecute", "NoSchedule"}))
      ->type_name("EFFECT");
  drain->add_option("--reason", arguments->reason, "Kept with the rule for whoever looks at it")
      ->type_name("TEXT");
  drain->add_flag_callback(
      "--wait", [arguments] { arguments->wait = true; },
      "Wait until nobody holds the devices (default with NoExecute)");
  drain->add_flag_callback("--no-wait", [arguments] { arguments->wait = false; }, "Return at once");
  AddDuration(*drain, "--timeout", arguments->timeout,
              "Wait no longer than this (default 0: ever)");
  drain->callback([&run, arguments] { run = [arguments] { return RunDrain(*arguments); }; });
  CLI::App* undrain = AddCommand(app, "undrain", "Take back what drain did",
                                 "drachma undrain device gpu.nvidia.com/h100-0/gpu-1");
  add_target(*undrain);
  undrain->callback([&run, arguments] { run = [arguments] { return RunUndrain(*arguments); }; });
}

void AddWebhook(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<WebhookArguments>();
  WebhookArguments& to = *arguments;
  CLI::App* command = AddCommand(
      app, "webhook",
      "Validating admission webhook: configs of the GPU drivers, and no device allocated twice",
      "drachma webhook --listen 0.0.0.0:9443 --tls-cert-file tls.crt --tls-key-file tls.key\n"
      "  drachma webhook --self-signed --register");
  const auto text = [command](const char* name, std::string& value, const char* help,
                              const char* type) {
    command->add_option(name, value, help)->type_name(type);
  };
  text("--listen", to.listen, "Address (default 127.0.0.1:9443; port 0: a free one)", "HOST:PORT");
  text("--tls-cert-file", to.tls_cert_file, "The server's certificate, PEM", "FILE");
  text("--tls-key-file", to.tls_key_file, "Its key, PEM", "FILE");
  text("--ca-file", to.ca_file, "Who signed it, for --register (default: the certificate)", "FILE");
  command->add_flag("--self-signed", to.self_signed,
                    "Make an authority and a certificate, keep them in --cert-dir, and print the "
                    "ValidatingWebhookConfiguration");
  text("--cert-dir", to.cert_dir, "Where --self-signed keeps them (default: in the data folder)",
       "DIR");
  text("--service", to.service, "The Service by which API servers reach it", "NAMESPACE/NAME");
  text("--url", to.url, "The URL by which API servers reach it (default: where it listens)", "URL");
  command->add_flag("--register", to.register_itself,
                    "Write the ValidatingWebhookConfiguration once the webhook is ready");
  text("--name", to.name, "Name of the configuration (default drachma)", "NAME");
  command
      ->add_option(
          "--failure-policy", to.failure_policy,
          "What API servers do when the webhook cannot be reached: Fail or Ignore (default "
          "Fail)")
      ->check(CLI::IsMember({"Fail", "Ignore"}))
      ->type_name("POLICY");
  command->add_flag_callback(
      "--no-ledger", [&to] { to.ledger = false; }, "Only look at configs; needs no API server");
  command->add_flag("--leader-elect", to.leader_elect,
                    "Of several processes only the holder of the lease keeps the ledger");
  AddDuration(*command, "--settle", to.settle,
              "Time from reading the cluster to the first verdict (default 5s)");
  AddDuration(*command, "--admitted-timeout", to.admitted_max,
              "How long an admitted write that is not seen holds its devices; more than the API "
              "server's --request-timeout (default 1m30s)");
  text("--driver-feature-gates", to.driver_gates,
       "Gates of the GPU driver: MPSSupport=true,… (default: all are on)", "GATES");
  AddKubeconfig(*command, to.kubeconfig);
  command->callback([&run, arguments] { run = [arguments] { return RunWebhook(*arguments); }; });
}

void AddConvert(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ConvertArguments>();
  CLI::App* command = AddCommand(
      app, "convert", "Bring device plugins' requests and old API versions to today's DRA",
      "drachma convert -f deployment.yaml | kubectl apply -f -\n"
      "  drachma convert -f manifests/ -f device-plugin-config.yaml --in-place\n"
      "  drachma convert -f deployment.yaml --to extended    # only the DeviceClass is new");
  AddFiles(*command, arguments->files, true);
  command
      ->add_option("--to", arguments->to,
                   "claims: pods use claims; extended: pods name extended resources, which "
                   "DeviceClasses offer (default claims)")
      ->check(CLI::IsMember({"claims", "extended"}))
      ->type_name("FORM");
  command
      ->add_option("--keep", arguments->keep,
                   "Resources that stay with their device plugins: rdma/hca,…")
      ->delimiter(',')
      ->type_name("NAMES");
  command->add_flag("--in-place", arguments->in_place, "Change the files; comments and order stay");
  command
      ->add_option("--driver", arguments->driver,
                   "The driver of names without domain (default gpu.nvidia.com)")
      ->type_name("DRIVER");
  command
      ->add_option("-o,--output", arguments->output,
                   "yaml: the converted text (the default); json: findings and texts")
      ->check(CLI::IsMember({"yaml", "json"}))
      ->type_name("FORM");
  command->callback([&run, arguments] {
    run = [arguments] { return RunConvert(*arguments, std::cout, std::cerr); };
  });
}

void AddFleetCommand(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<FleetArguments>();
  CLI::App* fleet =
      AddCommand(app, "fleet", "Built-in fleets and GPU models", "drachma fleet list");
  fleet->require_subcommand(1);
  CLI::App* list = AddCommand(*fleet, "list", "Fleets and GPU models that are built in",
                              "drachma fleet list -o json");
  AddOutput(*list, arguments->output);
  list->callback([&run, arguments] { run = [arguments] { return RunFleetList(*arguments); }; });
  CLI::App* show =
      AddCommand(*fleet, "show", "A fleet as a file, to be changed and given to --fleet",
                 "drachma fleet show dgx-h100 > my-fleet.yaml");
  show->add_option("name", arguments->name, "Built-in fleet or file")->required();
  AddOutput(*show, arguments->output);
  show->callback([&run, arguments] { run = [arguments] { return RunFleetShow(*arguments); }; });
}

void AddDebug(CLI::App& app, Run& run) {
  CLI::App* debug = AddCommand(app, "debug", "The engines over lines of JSON",
                               "drachma debug allocate < cases.jsonl");
  debug->require_subcommand(1);
  AddCommand(*debug, "allocate", "One allocation attempt a line, exactly as upstream's allocator",
             "drachma debug allocate < cases.jsonl")
      ->callback([&run] { run = [] { return RunDebugAllocate(std::cin, std::cout); }; });
  AddCommand(*debug, "cel", "Expressions and selectors, one request a line",
             "drachma debug cel < expressions.jsonl")
      ->callback([&run] { run = [] { return RunDebugCel(std::cin, std::cout); }; });
}

std::string DidYouMean(std::string_view word, std::span<const std::string> candidates) {
  const std::string meant = Nearest(word, candidates);
  return meant.empty() ? std::string() : "; did you mean " + meant + "?";
}

// The command that was reached, with its words ("drachma fleet list").
const CLI::App* Reached(const CLI::App& app, std::string& words) {
  const CLI::App* command = &app;
  words = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return command;
}

// What is wrong with the command line, in one line, and where to read on.
int PrintWrongUse(const CLI::App& app, const CLI::ParseError& error) {
  std::string words;
  const CLI::App* command = Reached(app, words);
  std::vector<std::string> commands;
  for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(one->get_name());
  }
  std::string text = error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty() && unknown.front().starts_with('-')) {
    std::vector<std::string> flags;
    for (const CLI::App* one : {command, &app}) {
      for (const CLI::Option* option : one->get_options()) {
        for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
      }
    }
    const std::string flag = unknown.front().substr(0, unknown.front().find('='));
    text = "unknown flag " + flag + DidYouMean(flag, flags);
  } else if (!unknown.empty() && !commands.empty()) {
    text = "unknown command \"" + unknown.front() + "\"" + DidYouMean(unknown.front(), commands);
  } else if (!unknown.empty()) {
    text = "unexpected argument \"" + unknown.front() + "\"";
    const bool reads_files = command->get_option_no_throw("-f") != nullptr;
    if (reads_files) text += ", did you mean -f " + unknown.front() + "?";
  } else if (!commands.empty()) {
    text = words + " wants a command: ";
    for (const std::string& name : commands) {
      text += (&name == &commands.front() ? "" : ", ") + name;
    }
  }
  std::cerr << "error: " << text << "\nSee " << words << " --help.\n";
  return kWrongUse;
}

int Main(int argc, char** argv) {
  CLI::App app{"Kubernetes Dynamic Resource Allocation in one program", "drachma"};
  app.footer(
      "Start with:\n  drachma up\n  drachma plan -f examples/quickstart.yaml\n  drachma COMMAND "
      "--help");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  bool verbose = false;
  app.add_flag("-v,--verbose", verbose, "Log more");
  app.fallthrough();
  Run run;
  for (const auto& add :
       {AddUp, AddPlan, AddCheck, AddCel, AddExplain, AddTop, AddDrain, AddWebhook, AddConvert,
        AddFleetCommand, AddApply, AddGet, AddRoles, AddNode, AddDebug}) {
    add(app, run);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(error);  // --help and --version
    }
    return PrintWrongUse(app, error);
  }
  if (verbose) SetLogLevel(LogLevel::kDebug);
  return run();
}

}  // namespace
}  // namespace drachma::cli

int main(int argc, char** argv) {
  try {
    return drachma::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    return drachma::cli::PrintError({.message = error.what()});
  }
}
