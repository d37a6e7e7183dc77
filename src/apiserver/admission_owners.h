#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/admission.h"
#include "apiserver/core.h"

namespace drachma::apiserver {

// Upstream's OwnerReferencesPermissionEnforcement: who changes the owners of an object must be
// allowed to delete it, and who makes it hold up the deletion of an owner must be allowed to set
// finalizers on that owner. Off unless it is enabled.
class OwnerReferences final : public AdmissionPlugin {
 public:
  // `core` must outlive this.
  explicit OwnerReferences(const Core& core) : core_(core) {}
  [[nodiscard]] std::string_view name() const override {
    return "OwnerReferencesPermissionEnforcement";
  }
  // ERRORS: kForbidden with what may not be done.
  Status Validate(AdmissionRequest& request, const ObjectReader& objects) override;

 private:
  [[nodiscard]] Status CheckOwner(const AdmissionRequest& request,
                                  const json::Value& reference) const;
  // Why the user of the request may not; nothing when it may.
  [[nodiscard]] std::optional<std::string> Refusal(const AdmissionRequest& request,
                                                   Attributes attributes) const;

  const Core& core_;
};

}  // namespace drachma::apiserver
