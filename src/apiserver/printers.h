#pragma once

#include <string_view>
#include <vector>

#include "apiserver/human.h"
#include "json/value.h"

namespace drachma::apiserver {

// The cells of one table row, in the order of the kind's columns (those of `-o wide` included).
class Cells {
 public:
  Cells() : cells_(json::Value::Array()) {}
  Cells& Add(json::Value cell) {
    cells_.Append(std::move(cell));
    return *this;
  }
  [[nodiscard]] json::Value Take() { return std::move(cells_); }

 private:
  json::Value cells_;
};

// Fills the cells for `object`, which is in its storage version.
using Printer = void (*)(const json::Value& object, Ages& ages, Cells& cells);

// One row of the printers' tables.
struct PrinterEntry {
  std::string_view group;
  std::string_view kind;
  Printer print;
};

// The printer of a kind; null for kinds that show their name and age only
// (kubernetes/pkg/printers/internalversion).
[[nodiscard]] Printer PrinterFor(std::string_view group, std::string_view kind);
// Name and age.
void PrintNameAndAge(const json::Value& object, Ages& ages, Cells& cells);
// TableRowConditions of finished pods; null for all other objects.
[[nodiscard]] json::Value RowConditions(std::string_view group, std::string_view kind,
                                        const json::Value& object);

// The tables by theme; only PrinterFor uses them.
[[nodiscard]] const std::vector<PrinterEntry>& CorePrinters();
[[nodiscard]] const std::vector<PrinterEntry>& WorkloadPrinters();
[[nodiscard]] const std::vector<PrinterEntry>& DevicePrinters();
[[nodiscard]] const std::vector<PrinterEntry>& NetworkPrinters();
[[nodiscard]] const std::vector<PrinterEntry>& PolicyPrinters();

// Parts that several printers share.
[[nodiscard]] json::Value NameOf(const json::Value& object);
[[nodiscard]] std::string CreatedAgo(const json::Value& object, Ages& ages);
// The text of `value`, or `fallback` when it is empty or missing.
[[nodiscard]] std::string TextOr(const json::Value& value, std::string_view fallback);
// Names and images of containers, each joined by commas.
void AddContainers(const json::Value& containers, Cells& cells);
// The condition of that type, or null.
[[nodiscard]] const json::Value& ConditionOf(const json::Value& object, std::string_view type);
// "a,b,c + 2 more...", "<unset>" for none.
[[nodiscard]] std::string JoinSome(const std::vector<std::string>& items, std::size_t shown_max);

}  // namespace drachma::apiserver
