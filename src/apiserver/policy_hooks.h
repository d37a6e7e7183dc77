#pragma once

#include <fmt/format.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/core.h"
#include "apiserver/store_changes.h"
#include "json/value.h"

namespace drachma::apiserver {

inline constexpr std::string_view kPolicyGroup = "admissionregistration.k8s.io";

// The policies of one kind that have bindings, compiled (upstream's policy source). They are
// compiled when something has changed and count from the next request on; where nothing changes a
// look costs one load of an atomic. Policies stand in the order of their names, and so do the
// bindings of one. On the server's executor.
template <typename Policy>
class PolicyHooks {
 public:
  struct Hook {
    std::shared_ptr<const Policy> policy;
    std::vector<json::Value> bindings;
  };

  // The plurals of the kinds of policies and of bindings. `core` must outlive this.
  PolicyHooks(Core& core, std::string_view policies, std::string_view bindings)
      : policies_(policies),
        bindings_(bindings),
        changes_(core.store(), fmt::format("/registry/{}/", kPolicyGroup)) {}

  // Valid until the next call.
  [[nodiscard]] std::span<const Hook> Current(const ObjectReader& objects) {
    if (changes_.Take()) Refresh(objects);
    return hooks_;
  }

 private:
  void Refresh(const ObjectReader& objects) {
    std::map<std::string, std::vector<json::Value>> bindings;
    objects.ForEach(kPolicyGroup, bindings_, "", [&](const json::Value& binding) {
      bindings[std::string(binding["spec"]["policyName"].AsString())].push_back(binding);
    });
    std::vector<Hook> hooks;
    for (auto& [policy, bound] : bindings) {
      const json::Value found = objects.Get(kPolicyGroup, policies_, "", policy);
      if (!found.IsNull()) hooks.push_back({Compiled(found), std::move(bound)});
    }
    hooks_ = std::move(hooks);
  }

  [[nodiscard]] std::shared_ptr<const Policy> Compiled(const json::Value& policy) const {
    for (const Hook& hook : hooks_) {
      if (hook.policy->object()["spec"] == policy["spec"] &&
          hook.policy->name() == policy["metadata"]["name"].AsString()) {
        return hook.policy;
      }
    }
    return std::make_shared<const Policy>(policy);
  }

  const std::string_view policies_;
  const std::string_view bindings_;
  StoreChanges changes_;
  std::vector<Hook> hooks_;
};

}  // namespace drachma::apiserver
