#include <fmt/format.h>

#include "cli/arguments.h"
#include "cluster/fleet.h"
#include "json/yaml.h"

namespace drachma::cli {
namespace {

using json::Value;

int NodesIn(const cluster::Fleet& fleet) {
  int nodes = 0;
  for (const cluster::NodeGroup& group : fleet.groups) nodes += group.count;
  return nodes;
}

int GpusIn(const cluster::Fleet& fleet) {
  int gpus = 0;
  for (const cluster::NodeGroup& group : fleet.groups) {
    if (group.gpu) gpus += group.count * group.gpu->count;
  }
  return gpus;
}

Value ModelToJson(const gpu::Model& model) {
  Value profiles = Value::Array();
  for (const gpu::MigProfile& profile : model.profiles) {
    profiles.Append(Value::Object({{"name", profile.name},
                                   {"memory", fmt::format("{}Mi", profile.memory_mib)},
                                   {"instances", profile.instances_max}}));
  }
  return Value::Object({{"model", model.key},
                        {"product", model.product},
                        {"architecture", model.architecture},
                        {"computeCapability", model.compute_capability},
                        {"memory", fmt::format("{}Mi", model.memory_mib)},
                        {"migProfiles", std::move(profiles)}});
}

}  // namespace

int RunFleetList(const FleetArguments& arguments) {
  if (arguments.output != OutputFormat::kTable) {
    Value fleets = Value::Array();
    for (const cluster::Fleet& fleet : cluster::BuiltInFleets()) {
      fleets.Append(Value::Object({{"name", fleet.name},
                                   {"nodes", NodesIn(fleet)},
                                   {"gpus", GpusIn(fleet)},
                                   {"description", fleet.description}}));
    }
    Value models = Value::Array();
    for (const gpu::Model& model : gpu::Models()) models.Append(ModelToJson(model));
    PrintValue(Value::Object({{"fleets", std::move(fleets)}, {"models", std::move(models)}}),
               arguments.output);
    return kFine;
  }
  Table fleets({"FLEET", "NODES", "GPUS", "DESCRIPTION"});
  for (const cluster::Fleet& fleet : cluster::BuiltInFleets()) {
    fleets.Add({fleet.name, std::to_string(NodesIn(fleet)), std::to_string(GpusIn(fleet)),
                fleet.description});
  }
  Table models({"MODEL", "PRODUCT", "ARCHITECTURE", "COMPUTE", "MEMORY", "MIG"});
  for (const gpu::Model& model : gpu::Models()) {
    models.Add({std::string(model.key), std::string(model.product), std::string(model.architecture),
                std::string(model.compute_capability), fmt::format("{}Mi", model.memory_mib),
                model.profiles.empty() ? "-" : fmt::format("{} profiles", model.profiles.size())});
  }
  Print(fleets.ToText() + "\n" + models.ToText());
  return kFine;
}

int RunFleetShow(const FleetArguments& arguments) {
  const Result<cluster::Fleet> fleet = cluster::FindFleet(arguments.name);
  if (!fleet) return PrintError(fleet.error(), kWrongUse);
  const std::string yaml = cluster::WriteFleet(*fleet);
  if (arguments.output != OutputFormat::kJson) {
    Print(yaml);
    return kFine;
  }
  const Result<Value> value = json::ReadYamlValue(yaml);
  if (!value) return PrintError(value.error());
  PrintValue(*value, arguments.output);
  return kFine;
}

}  // namespace drachma::cli
