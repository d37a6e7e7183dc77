#include "cli/flags.h"

#include <map>
#include <optional>

#include "cel/eval/format.h"

namespace drachma::cli {
namespace {

const std::map<std::string, OutputFormat> kFormats = {
    {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"yaml", OutputFormat::kYaml}};

}  // namespace

CLI::App* AddCommand(CLI::App& app, const std::string& name, const std::string& description,
                     const std::string& example) {
  CLI::App* command = app.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  return command;
}

void AddOutput(CLI::App& command, OutputFormat& output) {
  command
      .add_option_function<std::string>(
          "-o,--output", [&output](const std::string& name) { output = kFormats.at(name); },
          "Form of the output: table (the default), json or yaml")
      ->check(CLI::IsMember({"table", "json", "yaml"}).description(""))
      ->type_name("FORM");
}

void AddKubeconfig(CLI::App& command, std::string& kubeconfig) {
  command
      .add_option("--kubeconfig", kubeconfig,
                  "The API server to use (default $KUBECONFIG, then ~/.kube/config)")
      ->type_name("FILE");
}

void AddFiles(CLI::App& command, std::vector<std::string>& files, bool required) {
  CLI::Option* option =
      command.add_option("-f,--filename", files, "Manifests: files, folders, - for standard input");
  option->type_name("FILE");
  if (required) option->required();
}

void AddGates(CLI::App& command, PlaneArguments& plane) {
  command.add_option("--feature-gates", plane.feature_gates, "Upstream's gates: A=true,B=false")
      ->type_name("GATES");
  command
      .add_option("--emulated-version", plane.emulated_version,
                  "Whose gates are the defaults: 1.34 to 1.37 (default 1.37)")
      ->type_name("1.N");
  command.add_option("--seed", plane.seed, "Makes generated names and choices repeat")
      ->type_name("N");
}

void AddImexMode(CLI::App& command, PlaneArguments& plane) {
  command
      .add_option("--imex-mode", plane.imex_mode,
                  "Whose the IMEX daemons of compute domains are: driverManaged (default), or "
                  "hostManaged, where they run on the nodes beforehand")
      ->check(CLI::IsMember({"driverManaged", "hostManaged"}))
      ->type_name("MODE");
}

void AddScheduling(CLI::App& command, PlaneArguments& plane) {
  AddGates(command, plane);
  command
      .add_option("--selector-errors", plane.selector_errors,
                  "A selector that fails on a device: skip the device or fail the attempt (default "
                  "skip; of scheduler fail, upstream's)")
      ->check(CLI::IsMember({"skip", "fail"}))
      ->type_name("HOW");
  command
      .add_option(
          "--device-order", plane.device_order,
          "Which fitting device is taken: best-fit or first-fit (default best-fit; of scheduler "
          "first-fit, upstream's)")
      ->check(CLI::IsMember({"best-fit", "first-fit"}))
      ->type_name("ORDER");
}

void AddFleet(CLI::App& command, std::string& fleet) {
  command
      .add_option("--fleet", fleet,
                  "Simulated nodes: a built-in fleet (drachma fleet list), a file, or none")
      ->type_name("NAME|FILE|none");
}

void AddDuration(CLI::App& command, const std::string& name, Duration& duration,
                 const std::string& help) {
  command
      .add_option_function<std::string>(
          name,
          [&duration, name](const std::string& text) {
            const std::optional<std::int64_t> nanos = cel::ParseDuration(text);
            if (!nanos || *nanos < 0) throw CLI::ValidationError(name, text + " is no duration");
            duration = Duration(*nanos);
          },
          help)
      ->type_name("DURATION");
}

void AddLimits(CLI::App& command, apiserver::Limits& limits) {
  command
      .add_option("--max-requests-inflight", limits.requests_in_flight_max,
                  "Reading requests under way at a time; more get 429; 0: no limit (default 400)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  command
      .add_option("--max-mutating-requests-inflight", limits.mutating_in_flight_max,
                  "Writing requests under way at a time; more get 429; 0: no limit (default 200)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  AddDuration(command, "--request-timeout", limits.request_timeout,
              "Time for each request but watches (default 1m)");
  AddDuration(command, "--min-request-timeout", limits.watch_duration_min,
              "Watches end after this or up to twice as long (default 30m)");
  AddDuration(command, "--shutdown-delay-duration", limits.shutdown_delay,
              "How long /readyz fails before the server ends (default 0s)");
}

}  // namespace drachma::cli
