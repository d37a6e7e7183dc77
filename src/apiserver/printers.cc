#include "apiserver/printers.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "apiserver/human.h"

namespace drachma::apiserver {

Printer PrinterFor(std::string_view group, std::string_view kind) {
  static const auto* const kPrinters = [] {
    auto* printers = new std::unordered_map<std::string, Printer>();
    for (const auto* table : {&CorePrinters(), &WorkloadPrinters(), &DevicePrinters(),
                              &NetworkPrinters(), &PolicyPrinters()}) {
      for (const PrinterEntry& entry : *table) {
        printers->emplace(fmt::format("{}/{}", entry.group, entry.kind), entry.print);
      }
    }
    return printers;
  }();
  const auto found = kPrinters->find(fmt::format("{}/{}", group, kind));
  return found == kPrinters->end() ? nullptr : found->second;
}

void PrintNameAndAge(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(CreatedAgo(object, ages));
}

json::Value RowConditions(std::string_view group, std::string_view kind,
                          const json::Value& object) {
  if (!group.empty() || kind != "Pod") return nullptr;
  const std::string_view phase = object["status"]["phase"].AsString();
  if (phase != "Succeeded" && phase != "Failed") return nullptr;
  return json::Value::Array({json::Value::Object({
      {"type", "Completed"},
      {"status", "True"},
      {"reason", phase},
      {"message", phase == "Succeeded" ? "The pod has completed successfully." : "The pod failed."},
  })});
}

json::Value NameOf(const json::Value& object) { return object["metadata"]["name"]; }

std::string CreatedAgo(const json::Value& object, Ages& ages) {
  return AgeOf(object["metadata"]["creationTimestamp"], ages);
}

std::string TextOr(const json::Value& value, std::string_view fallback) {
  return std::string(value.AsString().empty() ? fallback : value.AsString());
}

void AddContainers(const json::Value& containers, Cells& cells) {
  std::string names;
  std::string images;
  for (const json::Value& container : containers.Items()) {
    if (&container != containers.Items().data()) {
      names += ',';
      images += ',';
    }
    names += container["name"].AsString();
    images += container["image"].AsString();
  }
  cells.Add(names).Add(images);
}

const json::Value& ConditionOf(const json::Value& object, std::string_view type) {
  static const json::Value kNone;
  for (const json::Value& condition : object["status"]["conditions"].Items()) {
    if (condition["type"].AsString() == type) return condition;
  }
  return kNone;
}

std::string JoinSome(const std::vector<std::string>& items, std::size_t shown_max) {
  if (items.empty()) return "<unset>";
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), shown_max));
  std::string text = fmt::format("{}", fmt::join(items.begin(), end, ","));
  if (items.size() > shown_max) text += fmt::format(" + {} more...", items.size() - shown_max);
  return text;
}

}  // namespace drachma::apiserver
