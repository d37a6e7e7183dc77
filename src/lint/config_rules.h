#pragma once

#include <string>

#include "lint/rules.h"

namespace drachma::lint {

// Rules about opaque parameters of the GPU drivers, in claims, templates and classes.
// The driver's name of classic DRA.
void OldConfigDriver(const json::Value& object, const RuleContext& context,
                     std::vector<Found>& found);
// apiVersions from before resource.nvidia.com/v1beta1.
void OldConfigVersion(const json::Value& object, const RuleContext& context,
                      std::vector<Found>& found);
// Kinds, fields and values in other letters than the driver's ("short", "timeslicing").
void ConfigSpelling(const json::Value& object, const RuleContext& context,
                    std::vector<Found>& found);
// A kind for other devices than the requests ask for: where the config names such a request the
// driver refuses to prepare the claim, else it passes the config by.
void ConfigOfWrongKind(const json::Value& object, const RuleContext& context,
                       std::vector<Found>& found);

// Where the configs of an object stand ("spec.config", "spec.devices.config"); empty for other
// kinds.
[[nodiscard]] std::string ConfigsPath(const json::Value& object);

}  // namespace drachma::lint
