#pragma once

#include <string_view>

#include "json/value.h"

// Conditions of Deployments, which also have a lastUpdateTime. Pure.
namespace drachma::controllers {

[[nodiscard]] json::Value DeploymentCondition(std::string_view type, std::string_view status,
                                              std::string_view reason, std::string_view message,
                                              std::string_view now);
// Puts a condition into `status`; one of the same status and reason stays as it is (upstream's
// SetDeploymentCondition).
void SetCondition(json::Value& status, json::Value condition);
void RemoveCondition(json::Value& status, std::string_view type);
// Whether the Deployment's progress is watched.
[[nodiscard]] bool HasDeadline(const json::Value& deployment);

}  // namespace drachma::controllers
