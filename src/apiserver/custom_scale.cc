#include "apiserver/custom_scale.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "apiserver/custom_kind.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// The value at a path; null when it leads nowhere.
Value At(const JsonPath& path, const Value& object) {
  const std::vector<Value> found = path.Find(object);
  return found.empty() ? Value() : found.front();
}

std::string Spelled(const JsonPath& path) {
  std::string text;
  for (const std::string& member : path.Members()) text += "." + member;
  return text;
}

Result<Value> ReadScale(const ScalePaths& paths, const Value& object) {
  const Value replicas = At(paths.spec_replicas, object);
  if (!replicas.IsInt()) {
    const std::string why =
        fmt::format("the spec replicas field \"{}\" does not exist", Spelled(paths.spec_replicas));
    return Fail(Code::kInternal, "Internal error occurred: " + why);
  }
  Value metadata = Value::Object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = object["metadata"].Find(field)) metadata.Set(field, *value);
  }
  Value status = Value::Object({{"replicas", At(paths.status_replicas, object).AsInt()}});
  if (paths.label_selector) {
    const Value selector = At(*paths.label_selector, object);
    if (!selector.AsString().empty()) status.Set("selector", selector);
  }
  return Value::Object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", std::move(metadata)},
                        {"spec", Value::Object({{"replicas", replicas}})},
                        {"status", std::move(status)}});
}

Result<Value> WriteReplicas(const ScalePaths& paths, Value object, std::int64_t replicas) {
  const std::vector<std::string> members = paths.spec_replicas.Members();
  if (members.empty()) {
    return Fail(Code::kInternal, "Internal error occurred: the path of the replicas is no field");
  }
  Value* at = &object;
  for (const std::string& member : members) {
    if (!at->IsObject() && !at->IsNull()) {
      return BadInput(fmt::format("the field before \"{}\" is no object", member));
    }
    at = &at->Edit(member);
  }
  *at = Value(replicas);
  return object;
}

}  // namespace

void HandleCustomScale(Core& core, ApiRequest request, const KindPtr& kind, Done done) {
  const auto custom = std::dynamic_pointer_cast<const CustomKind>(kind);
  const ScalePaths* paths = custom == nullptr ? nullptr : custom->Scale(request.resource().version);
  if (paths == nullptr) return done(std::unexpected(NoSuchResourceError()));
  // The kind is held so that its paths live as long as the request.
  HandleScaleAs(core, std::move(request), kind,
                {.read = [custom, paths](const Value& object) { return ReadScale(*paths, object); },
                 .write =
                     [custom, paths](Value object, std::int64_t replicas) {
                       return WriteReplicas(*paths, std::move(object), replicas);
                     }},
                std::move(done));
}

}  // namespace drachma::apiserver
