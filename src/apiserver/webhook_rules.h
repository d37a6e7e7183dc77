#pragma once

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

// What is wrong with the webhooks of a Validating- or MutatingWebhookConfiguration (with defaults),
// their match conditions included; `old` is the one it replaces, null for a create, whose faults it
// may keep (upstream's validateValidatingWebhookConfiguration and its update). Pure; any thread.
[[nodiscard]] validation::ErrorList WebhookFaults(const json::Value& configuration,
                                                  const json::Value& old);

}  // namespace drachma::apiserver
