// `drachma get`: what kubectl get shows, for machines without kubectl.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "api/kinds.h"
#include "base/nearest.h"
#include "cli/arguments.h"
#include "cli/session.h"
#include "client/objects.h"

namespace drachma::cli {
namespace {

using json::Value;

const api::KindInfo* FindKindByAnyName(const std::string& name) {
  for (const api::KindInfo& info : api::AllKinds()) {
    const bool named = name == info.plural || name == info.singular || name == info.kind ||
                       std::ranges::find(info.short_names, name) != info.short_names.end();
    if (named) return &info;
  }
  return nullptr;
}

// "gpu.nvidia.com/h100-0/gpu-1", several joined by commas.
std::string DevicesOf(const Value& claim) {
  std::string devices;
  for (const Value& result : claim.At({"status", "allocation", "devices", "results"}).Items()) {
    devices += fmt::format("{}{}/{}/{}", devices.empty() ? "" : ",", result["driver"].AsString(),
                           result["pool"].AsString(), result["device"].AsString());
  }
  return devices;
}

std::string StateOf(const Value& claim) {
  std::string state = claim["status"]["allocation"].IsNull() ? "pending" : "allocated";
  if (!claim["status"]["reservedFor"].empty()) state += ",reserved";
  if (client::IsBeingDeleted(claim)) state = "deleted," + state;
  return state;
}

struct Column {
  const char* name;
  std::string (*cell)(const Value& object);
};

std::string Text(const Value& value) {
  if (value.IsInt()) return std::to_string(value.AsInt());
  return std::string(value.AsString());
}

// Columns beyond the name, by kind.
std::vector<Column> ColumnsOf(std::string_view kind) {
  if (kind == "Pod") {
    return {{"STATUS", [](const Value& o) { return Text(o["status"]["phase"]); }},
            {"IP", [](const Value& o) { return Text(o["status"]["podIP"]); }},
            {"NODE", [](const Value& o) { return Text(o["spec"]["nodeName"]); }}};
  }
  if (kind == "ResourceClaim") return {{"STATE", StateOf}, {"DEVICES", DevicesOf}};
  if (kind == "ResourceSlice") {
    return {
        {"NODE", [](const Value& o) { return Text(o["spec"]["nodeName"]); }},
        {"DRIVER", [](const Value& o) { return Text(o["spec"]["driver"]); }},
        {"POOL", [](const Value& o) { return Text(o["spec"]["pool"]["name"]); }},
        {"DEVICES", [](const Value& o) { return std::to_string(o["spec"]["devices"].size()); }}};
  }
  if (kind == "Deployment") {
    return {{"READY",
             [](const Value& o) {
               return fmt::format("{}/{}", o["status"]["readyReplicas"].AsInt(),
                                  o["spec"]["replicas"].AsInt());
             }},
            {"AVAILABLE", [](const Value& o) { return Text(o["status"]["availableReplicas"]); }}};
  }
  return {};
}

}  // namespace

int RunGet(const GetArguments& arguments) {
  const api::KindInfo* kind = FindKindByAnyName(arguments.kind);
  if (kind == nullptr) {
    std::vector<std::string> plurals;
    for (const api::KindInfo& info : api::AllKinds()) plurals.emplace_back(info.plural);
    const std::string meant = Nearest(arguments.kind, plurals);
    return PrintError(
        {.message = fmt::format("unknown kind \"{}\"{}", arguments.kind,
                                meant.empty() ? "" : "; did you mean " + meant + "?")},
        kWrongUse);
  }
  Result<std::unique_ptr<Session>> session = Session::Open(arguments.kubeconfig);
  if (!session) return PrintError(session.error());
  client::Request request{
      .verb = client::Verb::kList,
      .resource = {std::string(kind->group), std::string(kind->versions.front().version),
                   std::string(kind->plural)}};
  if (kind->namespaced() && !arguments.all_namespaces) {
    request.ns = arguments.ns.empty() ? (*session)->ns() : arguments.ns;
  }
  const Result<Value> list = (*session)->Call(std::move(request));
  if (!list) return PrintError(list.error());
  if (arguments.output != OutputFormat::kTable) {
    PrintValue(*list, arguments.output);
    return kFine;
  }
  std::vector<std::string> header;
  if (arguments.all_namespaces) header.emplace_back("NAMESPACE");
  header.emplace_back("NAME");
  const std::vector<Column> columns = ColumnsOf(kind->kind);
  for (const Column& column : columns) header.emplace_back(column.name);
  Table table(std::move(header));
  for (const Value& object : (*list)["items"].Items()) {
    std::vector<std::string> row;
    if (arguments.all_namespaces) row.emplace_back(client::NamespaceOf(object));
    row.emplace_back(client::NameOf(object));
    for (const Column& column : columns) row.push_back(column.cell(object));
    table.Add(std::move(row));
  }
  Print(table.empty() ? "No resources found.\n" : table.ToText());
  return kFine;
}

}  // namespace drachma::cli
