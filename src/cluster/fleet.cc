#include "cluster/fleet.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

#include "client/objects.h"
#include "cluster/simulated_gpus.h"
#include "controllers/compute_domain_kinds.h"
#include "gpu/compute_domain.h"
#include "gpu/compute_domain_agent.h"
#include "gpu/driver.h"
#include "gpu/sim_backend.h"

namespace drachma::cluster {
namespace {

using controllers::compute_domain::kGpuCliqueLabel;
constexpr std::string_view kProductLabel = "nvidia.com/gpu.product";

// GB200 and GB300: their boards reach those of other nodes over NVLink.
bool IsGraceBlackwell(const gpu::Model& model) { return model.key.starts_with("GB"); }

// A label value may hold no spaces.
std::string LabelText(std::string_view text) {
  std::string label(text);
  for (char& c : label) c = c == ' ' ? '-' : c;
  return label;
}

Fleet MakeDefault() {
  return {.name = "default",
          .description = "A few nodes with different GPUs: H100, A100 and L4",
          .groups = {{.name = "h100",
                      .count = 2,
                      .cpu = "128",
                      .memory = "1Ti",
                      .gpu = GroupGpu{gpu::FindModel("H100-80GB"), 8}},
                     {.name = "a100",
                      .count = 1,
                      .cpu = "64",
                      .memory = "512Gi",
                      .gpu = GroupGpu{gpu::FindModel("A100-40GB"), 4}},
                     {.name = "l4",
                      .count = 1,
                      .cpu = "32",
                      .memory = "128Gi",
                      .gpu = GroupGpu{gpu::FindModel("L4-24GB"), 2}}}};
}

// One group of `count` nodes with 8 GPUs of one model.
Fleet OneModel(std::string name, std::string description, std::string_view model, int nodes,
               int gpus, gpu::MigMode mig = gpu::MigMode::kOff) {
  return {.name = name,
          .description = std::move(description),
          .groups = {{.name = name,
                      .count = nodes,
                      .cpu = "192",
                      .memory = "2Ti",
                      .gpu = GroupGpu{gpu::FindModel(model), gpus, mig}}}};
}

Fleet WithNvlink(Fleet fleet, std::string domain) {
  for (NodeGroup& group : fleet.groups) group.nvlink_domain = domain;
  return fleet;
}

}  // namespace

std::span<const Fleet> BuiltInFleets() {
  static const std::vector<Fleet> fleets = {
      MakeDefault(),
      OneModel("dgx-a100", "4 DGX A100: 8 A100 80 GB each", "A100-80GB", 4, 8),
      OneModel("dgx-h100", "4 DGX H100: 8 H100 80 GB each", "H100-80GB", 4, 8),
      OneModel("dgx-h200", "4 DGX H200: 8 H200 141 GB each", "H200-141GB", 4, 8),
      OneModel("dgx-b200", "4 DGX B200: 8 B200 180 GB each", "B200-180GB", 4, 8),
      OneModel("mig-h100", "2 nodes with 8 H100 each, cut into MIG parts on demand", "H100-80GB", 2,
               8, gpu::MigMode::kDynamic),
      WithNvlink(OneModel("gb200-nvl72", "One GB200 NVL72 rack: 18 nodes with 4 GB200 each",
                          "GB200-186GB", 18, 4),
                 "rack-1"),
      OneModel("scale-500", "500 nodes with 10 H100 each, for load", "H100-80GB", 500, 10),
      OneModel("scale-5000", "5,000 nodes with 8 H100 each, for load", "H100-80GB", 5000, 8),
  };
  return fleets;
}

Result<Fleet> FindFleet(const std::string& name_or_file) {
  if (name_or_file == "none") return Fleet{.name = "none", .description = "No nodes"};
  std::string names;
  for (const Fleet& fleet : BuiltInFleets()) {
    if (fleet.name == name_or_file) return fleet;
    names += (names.empty() ? "" : ", ") + fleet.name;
  }
  std::ifstream file(name_or_file);
  if (!file) {
    return Fail(Code::kNotFound,
                fmt::format("--fleet {}: neither a file nor a built-in fleet (none, {})",
                            name_or_file, names));
  }
  std::stringstream text;
  text << file.rdbuf();
  return ReadFleet(text.str(), name_or_file);
}

std::vector<node::NodeSpec> NodesOf(const Fleet& fleet) {
  std::vector<node::NodeSpec> nodes;
  for (const NodeGroup& group : fleet.groups) {
    for (int i = 0; i < group.count; ++i) {
      node::NodeSpec spec{.name = fmt::format("{}-{}", group.name, i),
                          .labels = group.labels,
                          .annotations = {{std::string(node::kSimulated), "fleet"}},
                          .capacity = {{"cpu", group.cpu},
                                       {"memory", group.memory},
                                       {"ephemeral-storage", "1Ti"},
                                       {"pods", group.pods}}};
      if (group.gpu) {
        spec.annotations.emplace(node::kSimulatedGpu, gpu::WriteSimSpec(*group.gpu));
        spec.labels.emplace(kProductLabel, LabelText(group.gpu->model->product));
      }
      if (!group.nvlink_domain.empty()) {
        spec.labels.emplace(kGpuCliqueLabel, group.nvlink_domain + ".0");
      }
      nodes.push_back(std::move(spec));
    }
  }
  return nodes;
}

Result<std::vector<std::unique_ptr<node::DraPlugin>>> DriversOf(
    const json::Value& node, const std::shared_ptr<gpu::DomainLink>& link) {
  std::vector<std::unique_ptr<node::DraPlugin>> drivers;
  DRA_ASSIGN(std::unique_ptr<gpu::GpuDriver> driver, SimulatedGpuDriver(node));
  if (driver == nullptr) return drivers;
  const auto& gpus = static_cast<const gpu::SimBackend&>(driver->backend());
  const gpu::Model& model = *gpus.spec().model;
  const std::string name(client::NameOf(node));
  drivers.push_back(std::move(driver));
  const std::string_view clique = client::LabelOf(node, kGpuCliqueLabel);
  if (!clique.empty() || IsGraceBlackwell(model)) {
    drivers.push_back(std::make_unique<gpu::ComputeDomainDriver>(name, std::string(clique), link));
  }
  return drivers;
}

void AddDrivers(node::SimulationOptions& simulation) {
  auto link = std::make_shared<gpu::DomainLink>();
  simulation.drivers = [link](const json::Value& node) { return DriversOf(node, link); };
  simulation.update_drivers = UpdateSimulatedGpus;
  auto account = std::make_shared<const client::Identity>(
      client::Identity{.user = "system:serviceaccount:kube-system:" + simulation.driver_account,
                       .groups = {},
                       .extra = {}});
  constexpr std::size_t kAtOnce = 64;
  simulation.driver_controllers.push_back({.name = "compute-domains",
                                           .component = "compute-domain-daemon",
                                           .concurrency = kAtOnce,
                                           .make = [link, account](controllers::Host& host) {
                                             return std::make_unique<gpu::ComputeDomainAgent>(
                                                 host, account, link);
                                           }});
}

}  // namespace drachma::cluster
