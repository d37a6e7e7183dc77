#include "apiserver/custom_scale.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "apiserver/custom_kind.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// What the replicas of an object that has none are while its Scale is changed: no Scale may ask for
// so many.
constexpr std::int64_t kNoReplicas = std::numeric_limits<std::int32_t>::min();

// The Scale of an object, with kNoReplicas where it has none.
Result<Value> ReadScale(const ScalePaths& paths, const Value& object) {
  DRA_ASSIGN(const std::optional<std::int64_t> replicas, NestedInt(object, paths.spec_replicas));
  DRA_ASSIGN(const std::optional<std::int64_t> ready, NestedInt(object, paths.status_replicas));
  Value metadata = Value::Object();
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
    if (const Value* value = object["metadata"].Find(field)) metadata.Set(field, *value);
  }
  Value status = Value::Object({{"replicas", ready.value_or(0)}});
  if (paths.label_selector) {
    DRA_ASSIGN(const std::optional<std::string> selector,
               NestedString(object, *paths.label_selector));
    if (selector && !selector->empty()) status.Set("selector", *selector);
  }
  return Value::Object({{"kind", "Scale"},
                        {"apiVersion", "autoscaling/v1"},
                        {"metadata", std::move(metadata)},
                        {"spec", Value::Object({{"replicas", replicas.value_or(kNoReplicas)}})},
                        {"status", std::move(status)}});
}

Result<Value> GetScale(const ScalePaths& paths, const Value& object) {
  DRA_ASSIGN(Value scale, ReadScale(paths, object));
  if (scale["spec"]["replicas"].AsInt() == kNoReplicas) {
    return Fail(
        Code::kInternal,
        fmt::format("Internal error occurred: the spec replicas field \"{}\" does not exist",
                    paths.spec_replicas.text));
  }
  return scale;
}

Result<Value> WriteReplicas(const ScalePaths& paths, Value object, std::int64_t replicas) {
  if (replicas == kNoReplicas) {
    return BadInput(
        fmt::format("the spec replicas field \"{}\" cannot be empty", paths.spec_replicas.text));
  }
  Value* at = &object;
  for (const std::string& field : paths.spec_replicas.fields) {
    if (!at->IsObject() && !at->IsNull()) {
      return BadInput(fmt::format("the field before \"{}\" is no object", field));
    }
    at = &at->Edit(field);
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
                {.get = [custom, paths](const Value& object) { return GetScale(*paths, object); },
                 .read = [custom, paths](const Value& object) { return ReadScale(*paths, object); },
                 .write =
                     [custom, paths](Value object, std::int64_t replicas) {
                       return WriteReplicas(*paths, std::move(object), replicas);
                     }},
                std::move(done));
}

}  // namespace drachma::apiserver
