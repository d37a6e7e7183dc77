#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kind.h"
#include "apiserver/request.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// What clients may send to be warned, refused or left alone for fields that do not exist.
enum class FieldValidation : std::uint8_t { kIgnore, kWarn, kStrict };
[[nodiscard]] FieldValidation FieldValidationOf(const client::Request& call);

// Named limit: upstream shows this much of a body it cannot make out.
inline constexpr std::size_t kBodySummaryBytes = 30;

// Whether bodies of that content type are JSON, which is also what no type means.
[[nodiscard]] bool IsJson(std::string_view content_type);

// What a body must be: a resource's own kind, or that of a subresource (Scale, Eviction, Binding).
struct ExpectedKind {
  std::string api_version;
  std::string kind;
};

// Named limit: bodies, and what patches make, nest at most this deep. Much of what works on objects
// recurses; the objects of Kubernetes nest some twenty deep.
inline constexpr std::size_t kObjectDepthMax = 500;
// ERRORS: kBadRequest for a value that nests deeper.
[[nodiscard]] Status CheckDepth(const json::Value& value);

// Parses the body of a write (JSON, YAML, protobuf by content type; in-process bodies as they are).
// The result has apiVersion and kind set and is not checked against a schema, protobuf apart.
// ERRORS: kUnsupportedMediaType, kBadRequest with upstream's text.
struct ParsedBody {
  json::Value object;
  std::vector<json::DuplicateKey> duplicates;
};
[[nodiscard]] Result<ParsedBody> ParseBody(ApiRequest& request, const ExpectedKind& expected);

// Reads the body of a create or update: the object with its defaults, still in the version of the
// request. Unknown and duplicate fields become warnings or an error.
// ERRORS: as ParseBody; kBadRequest when it does not decode.
[[nodiscard]] Result<json::Value> ReadObject(const Kind& kind, ApiRequest& request, Time now,
                                             std::vector<std::string>& warnings);
// The same for a body of another built-in kind (subresources, reviews): decoded, without defaults.
[[nodiscard]] Result<json::Value> ReadOther(const ExpectedKind& expected, ApiRequest& request,
                                            std::vector<std::string>& warnings);
// DeleteOptions of the body, or of the query when there is none. ERRORS: kBadRequest, kInvalid.
[[nodiscard]] Result<json::Value> ReadDeleteOptionsBody(ApiRequest& request);

// Of patches that are no JSON.
inline constexpr char kNoJsonPatch[] = "invalid JSON patch";
// The patch of a PATCH request as a value.
// ERRORS: kBadRequest with upstream's text.
[[nodiscard]] Result<ParsedBody> ParsePatch(ApiRequest& request);

// "DeviceClass" in "v1" cannot be handled as …: the error of a body of the wrong kind; `schema`
// says whether the kind exists at all; `sent` is its text.
[[nodiscard]] Status CheckKind(const json::Value& object, const ExpectedKind& expected,
                               std::string_view sent);

}  // namespace drachma::apiserver
