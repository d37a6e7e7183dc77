#include "cli/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/emulated_gates.h"
#include "api/features.h"
#include "controllers/compute_domain_kinds.h"

namespace drachma::cli {

Result<int> EmulatedMinorOf(const PlaneArguments& arguments) {
  const std::string& version = arguments.emulated_version;
  if (version.empty()) return api::kMinorMax;
  for (int minor = api::kMinorMin; minor <= api::kMinorMax; ++minor) {
    if (version == fmt::format("1.{}", minor)) return minor;
  }
  return BadInput(fmt::format("--emulated-version wants 1.{} to 1.{}, not {}", api::kMinorMin,
                              api::kMinorMax, version));
}

Result<std::map<std::string, bool>> GatesOf(const PlaneArguments& arguments) {
  std::map<std::string, bool> gates;
  DRA_ASSIGN(const int minor, EmulatedMinorOf(arguments));
  DRA_ASSIGN(const api::FeatureGates checked, api::EmulatedGates(minor, arguments.feature_gates));
  const api::FeatureGates defaults;
  for (const api::GateInfo& info : api::AllGates()) {
    if (checked.On(info.gate) != defaults.On(info.gate)) {
      gates.emplace(info.name, checked.On(info.gate));
    }
  }
  if (arguments.imex_mode == "hostManaged") {
    gates.emplace(controllers::compute_domain::kHostManagedGate, true);
  }
  return gates;
}

Result<scheduler::SelectorErrors> SelectorErrorsOf(const PlaneArguments& arguments,
                                                   scheduler::SelectorErrors fallback) {
  if (arguments.selector_errors.empty()) return fallback;
  if (arguments.selector_errors == "skip") return scheduler::SelectorErrors::kSkip;
  if (arguments.selector_errors == "fail") return scheduler::SelectorErrors::kFail;
  return BadInput("--selector-errors wants skip or fail, not " + arguments.selector_errors);
}

Result<scheduler::DeviceOrder> DeviceOrderOf(const PlaneArguments& arguments,
                                             scheduler::DeviceOrder fallback) {
  if (arguments.device_order.empty()) return fallback;
  if (arguments.device_order == "best-fit") return scheduler::DeviceOrder::kBestFit;
  if (arguments.device_order == "first-fit") return scheduler::DeviceOrder::kFirstFit;
  return BadInput("--device-order wants best-fit or first-fit, not " + arguments.device_order);
}

}  // namespace drachma::cli
