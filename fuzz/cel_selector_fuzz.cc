// Checker, cost estimate and evaluator: any text is refused or evaluates within its limits, and
// costs no more than the estimate says. The explanation must agree with the evaluation.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json/json.h"
#include "selector/explain.h"
#include "selector/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drachma;
  static const selector::Device* const kDevice = [] {
    const auto json = json::Read(R"({"attributes":{"model":{"string":"a100"},"idx":{"int":3},
      "ok":{"bool":true},"ver":{"version":"1.2.3"},"ints":{"ints":[1,2,3]},
      "other.com/x":{"strings":["p","q"]}},"capacity":{"memory":{"value":"40Gi"}}})");
    return new selector::Device(*selector::Device::FromJson("gpu.example.com", *json));
  }();
  const auto program =
      selector::Compile({reinterpret_cast<const char*>(data), size}, {.cost_limit = 100'000});
  if (!program) return 0;
  const selector::Outcome outcome = program->Match(*kDevice);
  const selector::Outcome again = program->Match(*kDevice);
  if (outcome.cost != again.cost || outcome.verdict != again.verdict) __builtin_trap();
  if (selector::Explain(*program, *kDevice).verdict != outcome.verdict) __builtin_trap();
  return 0;
}
