#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/merge.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// Update managers beyond this many are folded into one called "ancient-changes", so that
// metadata.managedFields stays bounded (upstream's DefaultMaxUpdateManagers).
inline constexpr std::size_t kUpdateManagersMax = 10;

// The versions of one kind, as far as field management needs them. Immutable.
class KindVersions {
 public:
  virtual ~KindVersions() = default;
  // How an object of that apiVersion is merged; nothing for versions that are not served any more.
  [[nodiscard]] virtual std::optional<Shape> ShapeOf(std::string_view api_version) const = 0;
  // The object in another version. REQUIRES: ShapeOf(api_version) has a value.
  [[nodiscard]] virtual json::Value Convert(const json::Value& object,
                                            std::string_view api_version) const = 0;
  // The object that nobody has written anything into yet. Fields that it has already, because Go
  // writes them even when they are zero ("spec": {}), have no owner.
  [[nodiscard]] virtual json::Value Nothing(std::string_view /*api_version*/) const {
    return json::Value::Object();
  }
};

// Who writes, and how it shall be recorded.
struct FieldWrite {
  std::string manager;      // empty is recorded as "unknown"
  std::string api_version;  // of the request
  std::string subresource;
  std::string time;  // RFC 3339, seconds
  // Fields that this (sub)resource does not write: they get no owner.
  FieldSet reset_fields;
};

// Follows a create, update or (non-apply) patch: what changed from `live` to `object` belongs to
// the writer now. `live` is null for a create; both are in write.api_version. Returns the new
// metadata.managedFields, null for none (managedfields' FieldManager.Update).
//
// The managed fields that `object` came with count as a wish to edit them, an empty list as one to
// forget them; objects that have none are not followed.
[[nodiscard]] json::Value TrackUpdate(const json::Value& live, const json::Value& object,
                                      const FieldWrite& write, const KindVersions& versions);

struct Applied {
  json::Value object;          // in write.api_version, without managedFields
  json::Value managed_fields;  // null for none
};
enum class Force : std::uint8_t { kNo, kYes };

// Server-side apply: `config` is what the manager wants, `live` the present object (an object
// without fields when there is none); both in write.api_version.
// REQUIRES: config names write.api_version.
// ERRORS: kConflict with one FieldManagerConflict cause per field that another manager holds (never
// with Force::kYes), kBadRequest when config carries managedFields, kUnknown (500, as upstream)
// when it does not fit the schema.
[[nodiscard]] Result<Applied> Apply(const json::Value& live, const json::Value& config,
                                    const FieldWrite& write, Force force,
                                    const KindVersions& versions);

// Whether the two lists differ in more than the times of their entries.
[[nodiscard]] bool SameButForTimes(const json::Value& a, const json::Value& b);

}  // namespace drachma::apiserver
