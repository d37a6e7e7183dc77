#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "cel/check/cost.h"
#include "cel/eval/function.h"

namespace drachma::cel {

// What a call costs at run time in Kubernetes: the rules of cel-go's libraries, then apiserver's
// library.CostEstimator, then cel-go's standard rules. Suits PlanOptions::costs.
[[nodiscard]] CallCost KubernetesCallCost(std::string_view function, std::string_view overload);

// The same at check time. Sizes of what paths reach are the host's to tell.
class KubernetesCostHints : public CostHints {
 public:
  [[nodiscard]] std::optional<CallEstimate> Call(std::string_view function,
                                                 std::string_view overload, const CostNode* target,
                                                 std::span<const CostNode> args) const override;

 private:
  [[nodiscard]] std::optional<CallEstimate> LibraryCall(std::string_view overload,
                                                        const CostNode* target,
                                                        std::span<const CostNode> args) const;
  [[nodiscard]] CallEstimate ListCall(std::string_view function, const CostNode& target) const;
  [[nodiscard]] CallEstimate ReplaceCall(const CostNode& target,
                                         std::span<const CostNode> args) const;
  [[nodiscard]] CallEstimate SplitCall(const CostNode& target,
                                       std::span<const CostNode> args) const;
  [[nodiscard]] CallEstimate JoinCall(const CostNode& target, std::span<const CostNode> args) const;
  [[nodiscard]] std::optional<CostNode> ElementOf(const CostNode& list) const;
};

}  // namespace drachma::cel
