// `drachma cel`: the devices that a selector is tried on come from files, a fleet or an API server.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <sstream>

#include "api/conversion.h"
#include "cli/arguments.h"
#include "cli/cel_command.h"
#include "cli/session.h"
#include "client/objects.h"
#include "cluster/fleet.h"
#include "cluster/manifests.h"
#include "json/json.h"
#include "lint/shape_rules.h"
#include "lint/tree.h"
#include "node/node_object.h"
#include "node/slice_publisher.h"

namespace drachma::cli {
namespace {

using json::Value;

// What the drivers of a fleet's nodes publish.
Status AddSlicesOfFleet(const std::string& name, std::vector<Value>& slices) {
  DRA_ASSIGN(const cluster::Fleet fleet, cluster::FindFleet(name));
  for (const node::NodeSpec& spec : cluster::NodesOf(fleet)) {
    const Value node = node::NewNode(spec, "", Time());
    DRA_ASSIGN(const auto drivers, cluster::DriversOf(node));
    for (const auto& driver : drivers) {
      for (client::Request& request :
           node::PublishRequests(driver->driver(), node, driver->Pools(), {})) {
        slices.push_back(std::move(request.body));
      }
    }
  }
  return {};
}

// YAML takes a pool called n for a boolean. An API server would refuse such a slice, and without
// one the pool would be taken for none. ERRORS: kBadRequest.
Status CheckScalars(const cluster::Manifest& manifest) {
  std::vector<lint::Found> found;
  lint::ShapesOfFields(manifest.object, {}, found);
  for (const lint::Found& fault : found) {
    if (fault.finding.rule != "wrong-scalar") continue;
    const bool truth = lint::ValueAt(manifest.object, fault.finding.path).IsBool();
    return BadInput(
        fmt::format("{}: {}{}", manifest.Place(), fault.finding.message,
                    truth ? " (so YAML reads y, n, yes, no, on and off without quotes)" : ""));
  }
  return {};
}

Result<std::vector<Value>> SlicesOf(const CelArguments& arguments) {
  if (arguments.files.empty() && arguments.fleet.empty()) {
    DRA_ASSIGN(const std::unique_ptr<Session> session, Session::Open(arguments.kubeconfig));
    return session->ListAll(client::resources::kResourceSlices);
  }
  std::vector<Value> slices;
  if (!arguments.fleet.empty()) DRA_TRY(AddSlicesOfFleet(arguments.fleet, slices));
  DRA_ASSIGN(const std::vector<cluster::Manifest> manifests,
             cluster::LoadManifests(arguments.files));
  for (const cluster::Manifest& manifest : manifests) {
    if (!manifest.Is("resource.k8s.io", "ResourceSlice")) continue;
    DRA_TRY(CheckScalars(manifest));
    DRA_ASSIGN(Value slice, api::Convert(manifest.object, "resource.k8s.io/v1"));
    slices.push_back(std::move(slice));
  }
  return slices;
}

// One row of the contract: {"driver", "pool", "device", "match", "error", "why"}.
Value RowOf(const Value& device) {
  // "driver/pool/device", where a pool's name may hold slashes.
  const std::string_view name = device["device"].AsString();
  const std::size_t first = name.find('/');
  const std::size_t last = name.rfind('/');
  std::string why;
  const auto add = [&](std::string_view text) {
    if (!why.empty()) why += "; ";
    why += text;
  };
  for (const Value& reason : device["reasons"].Items()) add(reason["text"].AsString());
  for (const Value& hint : device["hints"].Items()) add(hint.AsString());
  return Value::Object({{"driver", name.substr(0, first)},
                        {"pool", name.substr(first + 1, last - first - 1)},
                        {"device", name.substr(last + 1)},
                        {"match", device["result"].AsString() == "match"},
                        {"error", device["error"]},
                        {"why", why.empty() ? Value() : Value(why)}});
}

}  // namespace

int RunCelOnSlices(const CelArguments& arguments) {
  const Result<std::vector<Value>> slices = SlicesOf(arguments);
  if (!slices) {
    const bool from_server = arguments.files.empty() && arguments.fleet.empty();
    return PrintError(slices.error(), from_server ? kNegative : kWrongUse);
  }
  CelOptions options{.expression = arguments.expression,
                     .json = arguments.output != OutputFormat::kTable};
  if (arguments.output == OutputFormat::kTable) {
    return RunCel(options, *slices, std::cout, std::cerr);
  }
  std::ostringstream text;
  const int code = RunCel(options, *slices, text, std::cerr);
  const Result<Value> answer = json::Read(text.str());
  if (!answer) return code;  // the expression does not compile; that has been said
  Value rows = Value::Array();
  for (const Value& device : (*answer)["devices"].Items()) rows.Append(RowOf(device));
  PrintValue(rows, arguments.output);
  return code;
}

}  // namespace drachma::cli
