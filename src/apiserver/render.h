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

// The cells of stored objects as they were told last, since most of them are the same when a Table
// is shown again. On the server's executor.
class TableRows {
 public:
  // A row takes the place of another beyond this.
  static constexpr std::size_t kRowsMax = 32 * 1024;

  struct Row {
    store::Revision revision = 0;  // of the object; 0: none
    Time from, until;              // when the ages are true
    net::SharedBytes cells;        // the text of the row up to the object
    // Where the metadata of the object is in its text.
    std::uint32_t metadata_begin = 0;
    std::uint32_t metadata_size = 0;
  };
  // The place of an object's row.
  [[nodiscard]] Row& At(store::Revision revision) {
    rows_.resize(kRowsMax);
    return rows_[static_cast<std::size_t>(revision) % kRowsMax];
  }

 private:
  std::vector<Row> rows_;
};

// Which objects the rows of a Table carry (the query parameter includeObject).
enum class IncludeObject : std::uint8_t { kMetadata, kNone, kObject };

// How an answer is written.
struct Rendering {
  Accepted accepted;
  IncludeObject include = IncludeObject::kMetadata;
  Time now;                                   // ages in tables count to here
  std::shared_ptr<TableRows> rows = nullptr;  // null: every row is made anew
};

// The bytes of an answer's body. Of stored objects and lists of them they are those that their
// records share.
[[nodiscard]] Result<std::vector<net::Slice>> Render(const Answer& answer,
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
