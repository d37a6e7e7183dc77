#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/core.h"
#include "apiserver/negotiate.h"
#include "base/result.h"
#include "net/http.h"

namespace drachma::apiserver {

// Which objects the rows of a Table carry (the query parameter includeObject).
enum class IncludeObject : std::uint8_t { kMetadata, kNone, kObject };

// How an answer is written.
struct Rendering {
  Accepted accepted;
  IncludeObject include = IncludeObject::kMetadata;
  Time now;  // ages in tables count to here
};

// The bytes of an answer's body. Stored objects and lists of them are written from the bytes that
// their records share.
[[nodiscard]] Result<std::vector<net::SharedBytes>> Render(const Answer& answer,
                                                           const Rendering& rendering);
// A value in the media type that was accepted.
[[nodiscard]] std::string Encode(const json::Value& value, const Accepted& accepted);
[[nodiscard]] std::string_view ContentTypeOf(const Accepted& accepted);

// {"kind":"PartialObjectMetadata",…} of an object.
[[nodiscard]] json::Value PartialMetadataOf(const json::Value& object,
                                            std::string_view meta_version);

// A Table. Watches send the columns with their first event only.
enum class Columns : std::uint8_t { kNo, kYes };
[[nodiscard]] json::Value TableOf(const Kind& kind, std::string_view version,
                                  std::vector<json::Value> rows, json::Value meta,
                                  std::string_view meta_version, Columns columns);
[[nodiscard]] json::Value RowOf(const Kind& kind, std::string_view version,
                                const json::Value& object, const Rendering& rendering);

}  // namespace drachma::apiserver
