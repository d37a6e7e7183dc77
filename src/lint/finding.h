#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"

namespace drachma::lint {

enum class Severity : std::uint8_t { kError, kWarning };

// "error", "warning".
[[nodiscard]] const char* SeverityName(Severity severity);

// One change of a manifest's text. Paths are those of json::YamlDocument ("spec.selectors[0].cel").
// A change keeps everything else of the text: comments, order, quoting.
struct Change {
  enum class Type : std::uint8_t {
    kSetValue,       // the value at `path` becomes `value`
    kReplaceMember,  // the member at `path` becomes `key: value`, in its place
    kInsertMember,  // the mapping at `path` gets `key: value`, before its member `before` (or last)
    kAppendItem,    // the list at `path` gets `value` as its last item
    kRemoveMember,  // the member at `path` goes
    kRemoveItem,    // the item at `path` goes
    kRemoveDocument,  // the whole document, with the comments before it
  };
  Type type = Type::kSetValue;
  std::string path;
  std::string key;
  json::Value value;
  std::string before;
};

// A fault of a manifest, with the place where it stands and how to mend it.
struct Finding {
  std::string file;
  int line = 0;  // from 1
  int column = 0;
  std::string rule;  // stable name: "selector-quantity-literal"
  Severity severity = Severity::kError;
  std::string message;
  std::string fix;  // the corrected form to show; empty when there is none

  std::size_t document = 0;  // index in the file
  std::string path;          // in the document
  std::vector<Change>
      changes;  // what --fix does, in order; empty when nobody but the user can know
};

}  // namespace drachma::lint
