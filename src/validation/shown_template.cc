#include "validation/shown_template.h"

#include "validation/field_error.h"

namespace drachma::validation {
namespace {

using json::Value;

Value InternalRequest(const Value& request, bool alternative) {
  Value out;
  if (alternative) out.Set("Name", request["name"].AsString());
  out.Set("DeviceClassName", request["deviceClassName"].AsString());
  Value selectors;
  for (const Value& selector : request["selectors"].Items()) {
    const Value& cel = selector["cel"];
    selectors.Append(Value::Object(
        {{"CEL", cel.IsNull() ? Value()
                              : Value::Object({{"Expression", cel["expression"].AsString()}})}}));
  }
  out.Set("Selectors", selectors);
  out.Set("AllocationMode", request["allocationMode"].AsString());
  out.Set("Count", request["count"].AsInt());
  if (!alternative) out.Set("AdminAccess", request["adminAccess"]);
  Value tolerations;
  for (const Value& toleration : request["tolerations"].Items()) {
    tolerations.Append(Value::Object({{"Key", toleration["key"].AsString()},
                                      {"Operator", toleration["operator"].AsString()},
                                      {"Value", toleration["value"].AsString()},
                                      {"Effect", toleration["effect"].AsString()},
                                      {"TolerationSeconds", toleration["tolerationSeconds"]}}));
  }
  out.Set("Tolerations", tolerations);
  const Value& capacity = request["capacity"];
  out.Set("Capacity",
          capacity.IsNull() ? Value() : Value::Object({{"Requests", capacity["requests"]}}));
  Value derived;
  for (const Value& attribute : request["derivedAttributes"].Items()) {
    derived.Append(Value::Object({{"Name", attribute["name"].AsString()},
                                  {"Expression", attribute["expression"].AsString()}}));
  }
  out.Set("DerivedAttributes", derived);
  return out;
}

Value InternalDeviceClaim(const Value& devices) {
  Value requests;
  for (const Value& request : devices["requests"].Items()) {
    const Value& exactly = request["exactly"];
    Value alternatives;
    for (const Value& alternative : request["firstAvailable"].Items()) {
      alternatives.Append(InternalRequest(alternative, true));
    }
    requests.Append(
        Value::Object({{"Name", request["name"].AsString()},
                       {"Exactly", exactly.IsNull() ? Value() : InternalRequest(exactly, false)},
                       {"FirstAvailable", alternatives}}));
  }
  Value constraints;
  for (const Value& constraint : devices["constraints"].Items()) {
    constraints.Append(Value::Object({{"Requests", constraint["requests"]},
                                      {"MatchAttribute", constraint["matchAttribute"]},
                                      {"DistinctAttribute", constraint["distinctAttribute"]}}));
  }
  Value configs;
  for (const Value& config : devices["config"].Items()) {
    const Value& opaque = config["opaque"];
    configs.Append(Value::Object(
        {{"Requests", config["requests"]},
         {"Opaque", opaque.IsNull() ? Value()
                                    : Value::Object({{"Driver", opaque["driver"].AsString()},
                                                     {"Parameters", opaque["parameters"]}})}}));
  }
  return Value::Object({{"Requests", requests}, {"Constraints", constraints}, {"Config", configs}});
}

}  // namespace

std::string ShownTemplateSpec(const Value& spec) {
  Value out = Value::Object();
  for (const json::Member& member : spec["metadata"].Members()) out.Set(member.key(), member.value);
  out.Set("Spec", Value::Object({{"Devices", InternalDeviceClaim(spec["spec"]["devices"])}}));
  return Shown(out);
}

}  // namespace drachma::validation
