#include "cli/debug_allocate.h"

#include <string>
#include <utility>
#include <vector>

#include "allocator/allocator.h"
#include "json/json.h"

namespace drachma::cli {
namespace {

using allocator::DeviceId;

DeviceId IdOf(const json::Value& value) {
  return {.driver = std::string(value["driver"].AsString()),
          .pool = std::string(value["pool"].AsString()),
          .device = std::string(value["device"].AsString())};
}

Result<allocator::RawUsage> UsageOf(const json::Value& allocated) {
  allocator::RawUsage usage;
  for (const json::Value& item : allocated["devices"].Items()) usage.devices.push_back(IdOf(item));
  for (const json::Value& item : allocated["shared"].Items()) usage.shared.push_back(IdOf(item));
  for (const json::Value& item : allocated["capacity"].Items()) {
    api::StringMap<Quantity> consumed;
    for (const json::Member& member : item["consumed"].Members()) {
      DRA_ASSIGN(Quantity amount, Quantity::Parse(member.value.AsString()));
      consumed.emplace(member.key(), std::move(amount));
    }
    usage.capacity.emplace_back(IdOf(item), std::move(consumed));
  }
  return usage;
}

Result<allocator::Outcome> Run(const json::Value& request) {
  std::vector<std::string> names;
  for (const json::Value& name : request["features"].Items()) names.emplace_back(name.AsString());
  allocator::Inventory inventory({.features = allocator::Features::Named(names),
                                  .order = allocator::DeviceOrder::kFirstFit,
                                  .selector_errors = allocator::SelectorErrors::kFail});
  inventory.KeepOrder();
  for (const json::Value& device_class : request["classes"].Items()) {
    DRA_TRY(inventory.SetClass(device_class));
  }
  for (const json::Value& slice : request["slices"].Items()) DRA_TRY(inventory.SetSlice(slice));
  DRA_ASSIGN(const allocator::RawUsage usage, UsageOf(request["allocated"]));
  inventory.SetUsage("allocated", "", usage);
  const auto node = inventory.SetNode(allocator::Node::FromJson(request["node"]));
  std::vector<api::ResourceClaim> claims;
  for (const json::Value& item : request["claims"].Items()) {
    DRA_ASSIGN(api::ResourceClaim claim, api::ResourceClaim::FromJson(item));
    claims.push_back(std::move(claim));
  }
  const allocator::Problem problem(inventory, std::move(claims));
  Random random = Random::FromSystem();
  allocator::Outcome outcome = allocator::Allocate(problem, node, {}, random);
  // What the selectors say about these devices is remembered from the first time.
  if (request["again"].AsBool()) outcome = allocator::Allocate(problem, node, {}, random);
  return outcome;
}

json::Value Answer(const allocator::Outcome& outcome) {
  json::Value answer = json::Value::Object();
  if (const auto* fit = std::get_if<allocator::Fit>(&outcome.value)) {
    json::Value results = json::Value::Array();
    for (const api::AllocationResult& result : fit->results) results.Append(result.ToJson());
    answer.Set("results", std::move(results));
    return answer;
  }
  answer.Set("results", nullptr);
  if (const auto* failure = std::get_if<allocator::Failure>(&outcome.value)) {
    const bool of_node = failure->scope == allocator::Failure::Scope::kNode;
    answer.Set(of_node ? "nodeError" : "error", failure->message);
  }
  return answer;
}

json::Value AnswerLine(const std::string& line) {
  const auto error = [](const Error& e) {
    return json::Value::Object({{"results", nullptr}, {"error", e.message}});
  };
  const auto request = json::Read(line);
  if (!request) return error(request.error());
  const auto outcome = Run(*request);
  return outcome ? Answer(*outcome) : error(outcome.error());
}

}  // namespace

int RunDebugAllocate(std::istream& in, std::ostream& out) {
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    out << json::Write(AnswerLine(line)) << '\n' << std::flush;
  }
  return 0;
}

}  // namespace drachma::cli
