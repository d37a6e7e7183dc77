#include "apiserver/scale_paths.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "api/json_kind.h"
#include "apiserver/go_print.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::ErrorList;

std::unexpected<Error> NoAccess(const FieldPath& path, std::size_t depth, const Value& value,
                                std::string_view wanted) {
  std::string at;
  for (std::size_t i = 0; i < depth; ++i) at += "." + path.fields[i];
  return Fail(Code::kInternal, fmt::format("{} accessor error: {} is of the type {}, expected {}",
                                           at, GoText(value), api::GoType(value), wanted));
}

// Null: nothing is there.
Result<const Value*> Nested(const Value& object, const FieldPath& path) {
  const Value* at = &object;
  for (std::size_t i = 0; i < path.fields.size(); ++i) {
    if (at->IsNull()) return nullptr;
    if (!at->IsObject()) return NoAccess(path, i + 1, *at, "map[string]interface{}");
    at = at->Find(path.fields[i]);
    if (at == nullptr) return nullptr;
  }
  return at;
}

void CheckReplicas(const FieldPath& path, const Value& object, ErrorList& errors) {
  const Result<std::optional<std::int64_t>> replicas = NestedInt(object, path);
  const std::int64_t number = replicas ? replicas->value_or(0) : 0;
  const auto bad = [&](std::string detail) {
    errors.push_back(
        validation::Invalid(path.text, validation::Shown(Value(number)), std::move(detail)));
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int32_t>::max();
  if (!replicas) {
    bad(replicas.error().message);
  } else if (number < 0) {
    bad("should be a non-negative integer");
  } else if (number > kMax) {
    bad(fmt::format("should be less than or equal to {}", kMax));
  }
}

}  // namespace

FieldPath::FieldPath(std::string_view spelled) : text(spelled) {
  if (spelled.starts_with('.')) spelled.remove_prefix(1);
  while (true) {
    const std::size_t dot = spelled.find('.');
    fields.emplace_back(spelled.substr(0, dot));
    if (dot == std::string_view::npos) return;
    spelled.remove_prefix(dot + 1);
  }
}

Result<std::optional<std::int64_t>> NestedInt(const Value& object, const FieldPath& path) {
  DRA_ASSIGN(const Value* value, Nested(object, path));
  if (value == nullptr) return std::nullopt;
  if (!value->IsInt()) return NoAccess(path, path.fields.size(), *value, "int64");
  return value->AsInt();
}

Result<std::optional<std::string>> NestedString(const Value& object, const FieldPath& path) {
  DRA_ASSIGN(const Value* value, Nested(object, path));
  if (value == nullptr) return std::nullopt;
  if (!value->IsString()) return NoAccess(path, path.fields.size(), *value, "string");
  return std::string(value->AsString());
}

ErrorList ScaleSpecErrors(const ScalePaths& paths, const Value& object) {
  ErrorList errors;
  CheckReplicas(paths.spec_replicas, object, errors);
  return errors;
}

ErrorList ScaleStatusErrors(const ScalePaths& paths, const Value& object) {
  ErrorList errors;
  CheckReplicas(paths.status_replicas, object, errors);
  if (!paths.label_selector) return errors;
  const Result<std::optional<std::string>> selector = NestedString(object, *paths.label_selector);
  if (!selector) {
    errors.push_back(
        validation::Invalid(paths.label_selector->text, "\"\"", selector.error().message));
  }
  return errors;
}

}  // namespace drachma::apiserver
