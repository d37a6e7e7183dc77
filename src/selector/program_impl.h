#pragma once

#include <memory>
#include <string>

#include "cel/check/checker.h"
#include "cel/eval/plan.h"
#include "selector/environment.h"
#include "selector/program.h"

namespace drachma::selector {

struct Program::Impl {
  std::string expression;
  CompileOptions options;
  const DeviceEnvironment* env = nullptr;
  cel::CheckedAst checked;
  std::unique_ptr<cel::Plan> plan;
  std::uint64_t max_cost = kCostUnknown;
};

// How expressions about devices are planned.
[[nodiscard]] cel::PlanOptions PlanOptionsFor(const DeviceEnvironment& env);

// The device as the variable of an evaluation.
class DeviceActivation final : public cel::Activation {
 public:
  explicit DeviceActivation(const Device::Impl& device) : device_(device) {}
  [[nodiscard]] bool Find(std::string_view name, cel::Value* value) const override;

 private:
  const Device::Impl& device_;
};

}  // namespace drachma::selector
