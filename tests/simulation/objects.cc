#include "objects.h"

#include <fmt/format.h>

#include <utility>

#include "base/check.h"
#include "json/yaml.h"

namespace drachma::simulation {

using json::Value;

Value FromYaml(std::string_view yaml) {
  auto value = json::ReadYamlValue(yaml);
  DRA_CHECK(value.has_value());
  return *std::move(value);
}

namespace {

Value Object(std::string_view api_version, std::string_view kind, std::string_view ns,
             std::string_view name, Value spec) {
  Value metadata = Value::Object({{"name", name}});
  if (!ns.empty()) metadata.Set("namespace", ns);
  return Value::Object({{"apiVersion", api_version},
                        {"kind", kind},
                        {"metadata", std::move(metadata)},
                        {"spec", std::move(spec)}});
}

Value Labels(std::string_view app) { return Value::Object({{"app", app}}); }

}  // namespace

Value PodSpec(const PodNeeds& needs) {
  Value container = FromYaml("{name: work, image: busybox, resources: {requests: {cpu: 500m}}}");
  Value spec = Value::Object();
  if (!needs.template_name.empty() || !needs.claim_name.empty()) {
    Value entry = Value::Object({{"name", "device"}});
    if (needs.claim_name.empty()) {
      entry.Set("resourceClaimTemplateName", needs.template_name);
    } else {
      entry.Set("resourceClaimName", needs.claim_name);
    }
    spec.Set("resourceClaims", Value::Array({std::move(entry)}));
    container.Edit("resources").Set("claims", FromYaml("[{name: device}]"));
  }
  if (needs.extended_gpus > 0) {
    container.Edit("resources")
        .Set("limits", Value::Object({{"nvidia.com/gpu", std::to_string(needs.extended_gpus)}}));
  }
  if (!needs.group.empty()) {
    spec.Set("schedulingGroup", Value::Object({{"podGroupName", needs.group}}));
  }
  if (!needs.priority_class.empty()) spec.Set("priorityClassName", needs.priority_class);
  if (needs.run_seconds > 0) spec.Set("restartPolicy", "Never");
  spec.Set("terminationGracePeriodSeconds", 2);
  spec.Set("containers", Value::Array({std::move(container)}));
  return spec;
}

Value PodTemplate(const PodNeeds& needs, std::string_view app) {
  Value metadata = Value::Object({{"labels", Labels(app)}});
  if (needs.run_seconds > 0) {
    metadata.Set("annotations",
                 Value::Object({{"drachma.dev/run-seconds", std::to_string(needs.run_seconds)}}));
  }
  return Value::Object({{"metadata", std::move(metadata)}, {"spec", PodSpec(needs)}});
}

Value Pod(std::string_view ns, std::string_view name, const PodNeeds& needs) {
  return Object("v1", "Pod", ns, name, PodSpec(needs));
}

Value Deployment(std::string_view ns, std::string_view name, int replicas, const PodNeeds& needs) {
  return Object("apps/v1", "Deployment", ns, name,
                Value::Object({{"replicas", replicas},
                               {"selector", Value::Object({{"matchLabels", Labels(name)}})},
                               {"template", PodTemplate(needs, name)}}));
}

Value Job(std::string_view ns, std::string_view name, int pods, const PodNeeds& needs) {
  return Object(
      "batch/v1", "Job", ns, name,
      Value::Object(
          {{"parallelism", pods}, {"completions", pods}, {"template", PodTemplate(needs, name)}}));
}

Value PodGroup(std::string_view ns, std::string_view name, int min_count) {
  return Object("scheduling.k8s.io/v1beta1", "PodGroup", ns, name,
                FromYaml(fmt::format("schedulingPolicy: {{gang: {{minCount: {}}}}}", min_count)));
}

Value Quota(std::string_view ns, int claims, int gpus, int pods) {
  return Object(
      "v1", "ResourceQuota", ns, "limit",
      Value::Object({{"hard", Value::Object({
                                  {"count/resourceclaims.resource.k8s.io", std::to_string(claims)},
                                  {"gpu.nvidia.com.deviceclass.resource.k8s.io/devices",
                                   std::to_string(gpus)},
                                  {"pods", std::to_string(pods)},
                              })}}));
}

Value Claim(std::string_view ns, std::string_view name, Value spec) {
  return Object("resource.k8s.io/v1", "ResourceClaim", ns, name, std::move(spec));
}

Value ClaimTemplate(std::string_view ns, std::string_view name, Value spec) {
  return Object("resource.k8s.io/v1", "ResourceClaimTemplate", ns, name,
                Value::Object({{"spec", std::move(spec)}}));
}

Value ClaimSpec(std::string_view device_class, int count, std::string_view yaml) {
  Value exactly = Value::Object({{"deviceClassName", device_class}, {"count", count}});
  if (!yaml.empty()) {
    const Value more = FromYaml(yaml);
    for (const json::Member& member : more.Members()) {
      exactly.Set(member.key(), member.value);
    }
  }
  return Value::Object(
      {{"devices",
        Value::Object({{"requests", Value::Array({Value::Object(
                                        {{"name", "device"}, {"exactly", exactly}})})}})}});
}

}  // namespace drachma::simulation
