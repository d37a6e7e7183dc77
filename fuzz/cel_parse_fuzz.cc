// The parser with all macros: any text gives a tree or issues.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cel/syntax/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drachma::cel;
  static const MacroTable* const kMacros = [] {
    auto* table = new MacroTable;
    table->Add(StandardMacros());
    table->Add(TwoVariableMacros());
    table->Add(OptionalMacros());
    table->Add(BindMacros());
    table->Add(MathMacros());
    table->Add(ListMacros());
    return table;
  }();
  const auto parsed = Parse({reinterpret_cast<const char*>(data), size}, {.macros = kMacros});
  if (!parsed) {
    if (parsed.error().issues.empty()) __builtin_trap();
    static_cast<void>(FormatIssues(parsed.error().ast->source, parsed.error().issues));
  }
  return 0;
}
