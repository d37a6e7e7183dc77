#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "api/decode.h"
#include "api/features.h"
#include "api/kinds.h"
#include "apiserver/managed_fields.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/json.h"
#include "json/value.h"
#include "validation/strategy.h"

namespace drachma::apiserver {

class Ages;

// Everything the registry asks of a resource: what discovery says of it, and how its objects are
// read, defaulted, converted and checked. Built-in kinds take it from the tables of `api` and
// `validation`; custom resources implement it from their definition. Immutable; any thread.
class Kind {
 public:
  explicit Kind(const api::KindInfo& info);
  virtual ~Kind() = default;
  Kind(const Kind&) = delete;
  Kind& operator=(const Kind&) = delete;

  [[nodiscard]] const api::KindInfo& info() const { return info_; }
  [[nodiscard]] std::string_view group() const { return info_.group; }
  [[nodiscard]] std::string_view plural() const { return info_.plural; }
  // "apps/v1" for the version "v1".
  [[nodiscard]] std::string ApiVersion(std::string_view version) const;
  // The apiVersion that objects are kept in.
  [[nodiscard]] const std::string& storage_api_version() const { return storage_api_version_; }

  // The store's scope of all objects ("/registry/apps/deployments/") or of those of one namespace.
  [[nodiscard]] std::string ScopeOf(std::string_view ns) const;
  [[nodiscard]] std::string KeyOf(std::string_view ns, std::string_view name) const;

  // Reads an object of a version: canonical form and what strict decoding finds.
  // ERRORS: kBadRequest with the decoder's words.
  [[nodiscard]] virtual Result<api::Decoded> Decode(
      const json::Value& object, std::string_view version, api::StrictFields strict,
      std::span<const json::DuplicateKey> duplicates) const = 0;
  virtual void SetDefaults(std::string_view version, Time now, json::Value& object) const = 0;
  // `object` (with its apiVersion set) in another version.
  [[nodiscard]] virtual Result<json::Value> Convert(json::Value object,
                                                    std::string_view api_version) const = 0;
  [[nodiscard]] virtual const KindVersions& versions() const = 0;
  // Applies a strategic merge patch to an object of `version`.
  // ERRORS: kUnsupportedMediaType where the kind has none (custom resources).
  [[nodiscard]] virtual Result<json::Value> StrategicMerge(json::Value object,
                                                           const json::Value& patch,
                                                           std::string_view version) const = 0;

  // The strategies' steps, see validation/strategy.h.
  [[nodiscard]] virtual bool AllowsUnconditionalUpdate(
      const validation::Context& context) const = 0;
  [[nodiscard]] virtual std::string_view ResetFields(std::string_view subresource) const = 0;
  [[nodiscard]] virtual Status BeforeCreate(const validation::Context& context, json::Value& object,
                                            std::vector<std::string>* warnings) const = 0;
  [[nodiscard]] virtual Status BeforeUpdate(const validation::Context& context, json::Value& object,
                                            const json::Value& old,
                                            std::vector<std::string>* warnings) const = 0;
  // The cells of an object (in its storage version) for the columns of `version`.
  [[nodiscard]] virtual json::Value Cells(const json::Value& object, std::string_view version,
                                          Ages& ages) const = 0;
  [[nodiscard]] virtual std::vector<api::ColumnInfo> Columns(std::string_view version) const = 0;

 protected:
  const api::KindInfo& info_;
  std::string storage_api_version_;
  std::string scope_;
};

using KindPtr = std::shared_ptr<const Kind>;

// The resources that are served, by group, version and plural. Changes (custom resources come and
// go) happen on the server's executor, where it is read, too; readers on other threads hold a copy
// of the pointer to an immutable generation.
class KindTable {
 public:
  // The built-in kinds that the gates let through.
  explicit KindTable(const api::FeatureGates& gates);

  // Null when nothing of that name is served in that version.
  [[nodiscard]] KindPtr Find(std::string_view group, std::string_view version,
                             std::string_view plural) const;
  // In whatever version.
  [[nodiscard]] KindPtr Find(std::string_view group, std::string_view plural) const;
  [[nodiscard]] KindPtr FindByKind(std::string_view group, std::string_view kind) const;
  // All in discovery's order: built-in kinds first, then custom ones by group.
  [[nodiscard]] const std::vector<KindPtr>& all() const { return all_; }

  // Adds a custom kind, replacing one of the same group and plural.
  void Put(KindPtr kind);
  void Remove(std::string_view group, std::string_view plural);
  // Keeps only the versions of built-in kinds that `served` is true for, and no kind without any.
  void Restrict(const std::function<bool(const Kind&, std::string_view version)>& served);

 private:
  std::vector<KindPtr> all_;
};

// A built-in kind.
[[nodiscard]] KindPtr MakeBuiltInKind(const api::KindInfo& info);
// How server-side apply merges a built-in struct.
[[nodiscard]] Shape ShapeOfType(const api::TypeInfo& type);

}  // namespace drachma::apiserver
