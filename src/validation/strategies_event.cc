#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"
#include "validation/shown_internal.h"
#include "validation/strategy_tables.h"

// Events of both groups: pkg/registry/core/event of Kubernetes.
namespace drachma::validation {
namespace {

using json::Value;

ErrorList MetaOf(const Value& object, Scope scope, NameRule rule) {
  return ValidateCoreObjectMeta(object["metadata"], scope, rule, "metadata");
}
ErrorList MetaUpdateOf(const Value& object, const Value& old) {
  return ValidateCoreObjectMetaUpdate(object["metadata"], old["metadata"], "metadata");
}

ErrorList ValidateEventTexts(const Value& event, const Context& context) {
  struct Limit {
    std::string_view field;
    std::string path;
    std::size_t max;
    bool required;
  };
  const bool core = context.group.empty();
  const std::array<Limit, 4> limits = {{
      {"reportingInstance", "reportingInstance", 128, true},
      {"action", "action", 128, true},
      {"reason", "reason", 128, true},
      {"message", "message", 1024, false},
  }};
  const std::string controller_path = core ? "reportingComponent" : "reportingController";
  const std::string_view controller = event["reportingComponent"].AsString();
  ErrorList errors;
  if (controller.empty()) errors.push_back(Required(controller_path));
  Append(errors, ValidateQualifiedNameAt(controller, controller_path));
  for (const Limit& limit : limits) {
    const std::string_view text = event[limit.field].AsString();
    if (text.empty() && limit.required) errors.push_back(Required(limit.path));
    if (text.size() > limit.max) {
      errors.push_back(
          Invalid(limit.path, "\"\"", fmt::format("can have at most {} characters", limit.max)));
    }
  }
  return errors;
}

ErrorList ValidateEventBasics(const Context& context, const Value& event) {
  const std::string_view ns = event["metadata"]["namespace"].AsString();
  const std::string_view involved = event["involvedObject"]["namespace"].AsString();
  const FieldError mismatch =
      Invalid("involvedObject.namespace", ShownText(involved), "does not match event.namespace");
  ErrorList errors;
  if (event["eventTime"].IsNull()) {
    const bool good = involved.empty() ? ns.empty() || ns == "default" : ns == involved;
    if (!good) errors.push_back(mismatch);
    return errors;
  }
  if (involved.empty() && ns != "default" && ns != "kube-system") errors.push_back(mismatch);
  Append(errors, ValidateEventTexts(event, context));
  return errors;
}

ErrorList ValidateEvent(const Context& context, const Value& event) {
  ErrorList errors = ValidateEventBasics(context, event);
  if (context.group.empty()) return errors;
  Append(errors, MetaOf(event, Scope::kNamespaced, NameIsDnsSubdomain));
  if (event["eventTime"].IsNull()) errors.push_back(Required("eventTime"));
  const std::string_view type = event["type"].AsString();
  if (type != "Normal" && type != "Warning") {
    errors.push_back(Invalid("type", "\"\"", fmt::format("has invalid value: {}", type)));
  }
  for (const std::string_view field : {"firstTimestamp", "lastTimestamp"}) {
    if (!event[field].IsNull()) {
      errors.push_back(Invalid(std::string(field), "\"\"", "needs to be unset"));
    }
  }
  if (event["count"].AsInt() != 0) {
    errors.push_back(Invalid("count", "\"\"", "needs to be unset"));
  }
  if (!event["source"].empty()) errors.push_back(Invalid("source", "\"\"", "needs to be unset"));
  return errors;
}

ErrorList ValidateEventUpdate(const Context& context, const Value& event, const Value& old) {
  ErrorList errors = ValidateEventBasics(context, event);
  if (context.group.empty()) return errors;
  Append(errors, MetaUpdateOf(event, old));
  for (const std::string_view field :
       {"involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
        "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance"}) {
    ErrorList changed = ValidateImmutable(
        event[field], old[field],
        field == "reportingComponent" ? "reportingController" : std::string(field));
    if (!changed.empty() && event[field].IsObject()) {
      changed[0].bad_value =
          ShownInternal(event[field], field == "source" ? "k8s.io/api/core/v1.EventSource"
                                                        : "k8s.io/api/core/v1.ObjectReference");
    }
    Append(errors, std::move(changed));
  }
  return errors;
}

constexpr Strategy kRows[] = {
    {.kind = "Event",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateEvent,
     .validate_update = ValidateEventUpdate},
    {.group = "events.k8s.io",
     .kind = "Event",
     .allow_create_on_update = Rule::kYes,
     .validate_create = ValidateEvent,
     .validate_update = ValidateEventUpdate},
};

}  // namespace

std::span<const Strategy> EventStrategies() { return kRows; }

}  // namespace drachma::validation
