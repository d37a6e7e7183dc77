#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cel/eval/attribute.h"
#include "cel/ext/costs.h"
#include "cel/ext/library.h"
#include "selector/program.h"

namespace drachma::selector {

// What an expression about a device may use: Kubernetes' libraries and the variable `device`. Each
// kind of environment is built once and lives for ever.
struct DeviceEnvironment {
  cel::Environment cel;
  const cel::Type* attribute_type = nullptr;  // any, or dyn where lists are enabled
  bool list_type_attributes = false;

  // The environment that `options` ask for. Thread-safe.
  [[nodiscard]] static const DeviceEnvironment& Get(const CompileOptions& options);
};

// Sizes of what is reached from `device`, as upstream declares them.
class DeviceCostHints final : public cel::KubernetesCostHints {
 public:
  explicit DeviceCostHints(const DeviceEnvironment& env) : env_(env) {}
  [[nodiscard]] std::optional<cel::Estimate> Size(const cel::CostNode& node) const override;

 private:
  const DeviceEnvironment& env_;
};

// Shortcuts for device.driver, device.attributes["domain"].name and the like.
class DevicePaths final : public cel::PathPlanner {
 public:
  [[nodiscard]] std::unique_ptr<cel::PathLoader> Plan(
      std::string_view root, const std::vector<std::string_view>& keys) const override;
};

}  // namespace drachma::selector
