#include <fmt/format.h>

#include <array>
#include <string>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

// Probes and lifecycle hooks.
namespace drachma::validation {
namespace {

using json::Value;

ErrorList ValidateHttpGet(const Value& get, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kSchemes = {"HTTP", "HTTPS"};
  ErrorList errors;
  if (get["path"].AsString().empty()) errors.push_back(Required(Child(path, "path")));
  Append(errors, ValidatePortOrName(get["port"], Child(path, "port")));
  const std::string_view scheme = get["scheme"].AsString();
  if (scheme != kSchemes[0] && scheme != kSchemes[1]) {
    errors.push_back(NotSupported(Child(path, "scheme"), ShownNamed(scheme), kSchemes));
  }
  for (const Value& header : get["httpHeaders"].Items()) {
    const std::string_view name = header["name"].AsString();
    Append(errors, InvalidEach(Child(path, "httpHeaders"), name, IsHttpHeaderName(name)));
  }
  return errors;
}

ErrorList ValidateExec(const Value& exec, const std::string& path) {
  if (!exec["command"].empty()) return {};
  return {Required(Child(path, "command"))};
}

ErrorList ValidateSleep(const Value& sleep, const Value& grace_period, const std::string& path) {
  const std::int64_t seconds = sleep["seconds"].AsInt();
  if (grace_period.IsNull() || (seconds >= 0 && seconds <= grace_period.AsInt())) return {};
  return {Invalid(path, ShownInt(seconds),
                  fmt::format("must be non-negative and less than terminationGracePeriodSeconds "
                              "({})",
                              grace_period.AsInt()))};
}

ErrorList ValidateHandler(const Value& handler, const Value& grace_period,
                          const std::string& path) {
  static constexpr std::array<std::string_view, 5> kKinds = {"exec", "httpGet", "tcpSocket", "grpc",
                                                             "sleep"};
  ErrorList errors;
  int handlers = 0;
  for (const std::string_view kind : kKinds) {
    const Value& action = handler[kind];
    if (action.IsNull()) continue;
    const std::string at = Child(path, kind);
    if (handlers++ > 0) {
      errors.push_back(Forbidden(at, "may not specify more than 1 handler type"));
      handlers = 1;
      continue;
    }
    if (kind == "exec") Append(errors, ValidateExec(action, at));
    if (kind == "httpGet") Append(errors, ValidateHttpGet(action, at));
    if (kind == "tcpSocket" || kind == "grpc") {
      Append(errors, ValidatePortOrName(action["port"], Child(at, "port")));
    }
    if (kind == "sleep") Append(errors, ValidateSleep(action, grace_period, at));
  }
  if (handlers == 0) errors.push_back(Required(path, "must specify a handler type"));
  return errors;
}

ErrorList ValidateProbe(const Value& probe, const Value& grace_period, const std::string& path) {
  ErrorList errors = ValidateHandler(probe, grace_period, path);
  for (const std::string_view field : {"initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                       "successThreshold", "failureThreshold"}) {
    Append(errors, ValidateNonNegative(probe[field].AsInt(), Child(path, field)));
  }
  const Value& grace = probe["terminationGracePeriodSeconds"];
  if (!grace.IsNull() && grace.AsInt() <= 0) {
    errors.push_back(Invalid(Child(path, "terminationGracePeriodSeconds"), ShownInt(grace.AsInt()),
                             "must be greater than 0"));
  }
  return errors;
}

}  // namespace

ErrorList ValidatePortOrName(const Value& port, const std::string& path) {
  if (port.IsString()) return InvalidEach(path, port.AsString(), IsPortName(port.AsString()));
  ErrorList errors;
  for (const std::string& fault : IsPortNumber(port.AsInt())) {
    errors.push_back(Invalid(path, ShownInt(port.AsInt()), fault));
  }
  return errors;
}

ErrorList ValidateProbes(const Value& container, const PodFacts& facts, const std::string& path) {
  ErrorList errors;
  for (const std::string_view name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    const Value& probe = container[name];
    if (probe.IsNull()) continue;
    const std::string at = Child(path, name);
    Append(errors, ValidateProbe(probe, facts.grace_period, at));
    if (name == "readinessProbe") {
      if (!probe["terminationGracePeriodSeconds"].IsNull()) {
        errors.push_back(Invalid(Child(at, "terminationGracePeriodSeconds"),
                                 ShownInt(probe["terminationGracePeriodSeconds"].AsInt()),
                                 "must not be set for readinessProbes"));
      }
    } else if (probe["successThreshold"].AsInt() != 1) {
      errors.push_back(Invalid(Child(at, "successThreshold"),
                               ShownInt(probe["successThreshold"].AsInt()), "must be 1"));
    }
  }
  return errors;
}

ErrorList ValidateLifecycle(const Value& lifecycle, const PodFacts& facts,
                            const std::string& path) {
  ErrorList errors;
  for (const std::string_view name : {"postStart", "preStop"}) {
    if (lifecycle[name].IsNull()) continue;
    Append(errors, ValidateHandler(lifecycle[name], facts.grace_period, Child(path, name)));
  }
  return errors;
}

}  // namespace drachma::validation
