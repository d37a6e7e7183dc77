#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "controllers/controller.h"

namespace drachma::controllers {

// Keeps the finalizer on objects of one storage kind that are in use, and lets those go that are
// being deleted once nobody uses them. Admission gives it to new objects; older ones get it here.
// Keys are those of the objects.
class StorageProtection : public Controller {
 public:
  [[nodiscard]] Work Sync(const std::string& key) override;

 protected:
  StorageProtection(Host& host, client::Resource resource, std::string_view finalizer);

  // Whether `object` has to stay.
  [[nodiscard]] virtual bool IsUsed(const json::Value& object) const = 0;
  // The call that takes the finalizer from `object`, which nobody in the caches uses.
  [[nodiscard]] virtual Action Release(const json::Value& object) const;

 private:
  [[nodiscard]] bool WaitsToGo(const json::Value& object) const;
  // Whether it lacks the finalizer that it should have.
  [[nodiscard]] bool IsBare(const json::Value& object) const;

  const client::Resource resource_;
  const std::string_view finalizer_;
  Cache& objects_;
};

// PersistentVolumeClaims stay as long as a pod that has a node uses them
// (k8s.io/kubernetes/pkg/controller/volume/pvcprotection).
class VolumeClaimProtection final : public StorageProtection {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<VolumeClaimProtection>(host);
  }
  explicit VolumeClaimProtection(Host& host);

 private:
  void OnPod(const client::Change& change);
  [[nodiscard]] bool IsUsed(const json::Value& claim) const override;
  // Asks for the pods first: one may have got its node before the claim was deleted, and the cache
  // of pods may not know it yet.
  [[nodiscard]] Action Release(const json::Value& claim) const override;

  Cache& pods_;
};

// PersistentVolumes stay as long as they are bound
// (k8s.io/kubernetes/pkg/controller/volume/pvprotection).
class VolumeProtection final : public StorageProtection {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<VolumeProtection>(host);
  }
  explicit VolumeProtection(Host& host);

 private:
  [[nodiscard]] bool IsUsed(const json::Value& volume) const override;
};

// VolumeAttributesClasses stay as long as a claim or a volume names them
// (k8s.io/kubernetes/pkg/controller/volume/vacprotection).
class VolumeClassProtection final : public StorageProtection {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<VolumeClassProtection>(host);
  }
  explicit VolumeClassProtection(Host& host);

 private:
  void OnUser(const client::Change& change);
  [[nodiscard]] bool IsUsed(const json::Value& volume_class) const override;

  Cache& claims_;
  Cache& volumes_;
};

}  // namespace drachma::controllers
