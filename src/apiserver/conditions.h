#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::apiserver {

struct Condition {
  std::string_view type;
  std::string_view status;
  std::string_view reason = {};
  std::string_view message = {};
};

// Sets a condition in status.conditions of a pod; the time of the transition changes only when the
// status does (podutil.UpdatePodCondition).
void SetPodCondition(json::Value& pod, const Condition& condition, std::string_view now);

}  // namespace drachma::apiserver
