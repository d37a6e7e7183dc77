#pragma once

#include <string_view>

#include "api/features.h"
#include "apiserver/admission.h"
#include "base/random.h"

namespace drachma::apiserver {

// Upstream's plugins of the same names. All on the server's executor.

// Nothing is created in namespaces that do not exist or are ending, and the system's stay.
class NamespaceLifecycle final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "NamespaceLifecycle"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

// New nodes start with the taint not-ready, until somebody says they are.
class TaintNodesByCondition final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "TaintNodesByCondition"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

// Pods get the number and the preemption policy of their PriorityClass; pod groups the number, and
// the policy when the gate PodGroupPreemptionPolicy is on.
class Priority final : public AdmissionPlugin {
 public:
  explicit Priority(const api::FeatureGates& gates) : gates_(gates) {}
  std::string_view name() const override { return "Priority"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
  Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  Status AdmitGroup(AdmissionRequest& request, const ObjectReader& objects, std::string_view noun);

  const api::FeatureGates& gates_;
};

// New pod groups get the finalizer that keeps them while pods belong to them.
class PodGroupProtection final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "PodGroupProtection"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

// New volume claims, volumes and VolumeAttributesClasses get the finalizers that keep them while
// they are used.
class StorageObjectInUseProtection final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "StorageObjectInUseProtection"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

// Pods stay five minutes on a node that is not ready or cannot be reached.
class DefaultTolerationSeconds final : public AdmissionPlugin {
 public:
  std::string_view name() const override { return "DefaultTolerationSeconds"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;
};

// Pods get their service account and its token; off unless it is enabled.
class ServiceAccount final : public AdmissionPlugin {
 public:
  explicit ServiceAccount(Random& random) : random_(random) {}
  std::string_view name() const override { return "ServiceAccount"; }
  Status Admit(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  Random& random_;
};

}  // namespace drachma::apiserver
