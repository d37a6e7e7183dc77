// A comparison: what is planned with shortcuts and constants must answer like the plain plan.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cel/ext/validators.h"
#include "json/json.h"
#include "selector/device_impl.h"
#include "selector/program_impl.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drachma;
  static const selector::Device* const kDevice = [] {
    const auto json = json::Read(R"({"attributes":{"model":{"string":"a100"},"idx":{"int":3},
      "ok":{"bool":true},"ver":{"version":"1.2.3"},"ints":{"ints":[1,2,3]},
      "other.com/x":{"strings":["p","q"]}},"capacity":{"memory":{"value":"40Gi"}}})");
    return new selector::Device(*selector::Device::FromJson("gpu.example.com", *json));
  }();
  const auto& env = selector::DeviceEnvironment::Get({});
  const auto checked = cel::CompileExpression({reinterpret_cast<const char*>(data), size}, env.cel);
  if (!checked) return 0;
  cel::PlanOptions options = selector::PlanOptionsFor(env);
  const auto fast = cel::MakePlan(*checked, options);
  options.paths = nullptr;
  const auto plain = cel::MakePlan(*checked, options);
  if (fast.has_value() != plain.has_value()) __builtin_trap();
  if (!fast) return 0;
  const selector::Device::Impl& host = kDevice->impl();
  const selector::DeviceActivation activation(host);
  cel::Arena arena;
  cel::Frame a{.arena = arena, .activation = &activation, .host = &host};
  cel::Frame b{.arena = arena, .activation = &activation, .host = &host};
  a.cost_limit = b.cost_limit = 100'000;
  const cel::Value x = (*fast)->Eval(a);
  const cel::Value y = (*plain)->Eval(b);
  if (a.cost != b.cost || x.kind() != y.kind()) __builtin_trap();
  if (x.IsError() ? x.AsText() != y.AsText() : x.IsBool() && x.AsBool() != y.AsBool()) {
    __builtin_trap();
  }
  return 0;
}
