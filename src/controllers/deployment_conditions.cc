#include "controllers/deployment_conditions.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "controllers/objects.h"

namespace drachma::controllers {

using json::Value;

namespace {

// progressDeadlineSeconds of those who want none.
constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int32_t>::max();

}  // namespace

Value DeploymentCondition(std::string_view type, std::string_view status, std::string_view reason,
                          std::string_view message, std::string_view now) {
  return Value::Object({{"type", type},
                        {"status", status},
                        {"lastUpdateTime", now},
                        {"lastTransitionTime", now},
                        {"reason", reason},
                        {"message", message}});
}

void SetCondition(Value& status, Value condition) {
  for (const Value& old : status["conditions"].Items()) {
    if (old["type"].AsString() == condition["type"].AsString() &&
        old["status"].AsString() == condition["status"].AsString() &&
        old["reason"].AsString() == condition["reason"].AsString()) {
      return;
    }
  }
  status.Set("conditions", WithCondition(status["conditions"], std::move(condition)));
}

void RemoveCondition(Value& status, std::string_view type) {
  Value kept = Value::Array();
  for (const Value& condition : status["conditions"].Items()) {
    if (condition["type"].AsString() != type) kept.Append(condition);
  }
  if (kept.empty()) {
    status.Erase("conditions");
  } else {
    status.Set("conditions", std::move(kept));
  }
}

bool HasDeadline(const Value& deployment) {
  const Value* deadline = deployment["spec"].Find("progressDeadlineSeconds");
  return deadline != nullptr && !deadline->IsNull() && deadline->AsInt() != kNoDeadline;
}

}  // namespace drachma::controllers
