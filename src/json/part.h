#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace drachma::json {

// The text of the value at a dotted path of object members ("spec.nodeName") in the text of an
// object; empty when there is none. Reads no further than it must and builds nothing.
// REQUIRES: `text` is compact valid JSON, as WriteTo() writes it. Members whose names have escapes
// are not found.
[[nodiscard]] std::string_view FindText(std::string_view text, std::string_view path);

// The texts of a member of the object `text` and of a member of that: FindText(text, outer) and
// FindText(text, outer + "." + inner), in one pass. REQUIRES: as FindText(); no dots.
struct NestedText {
  std::string_view outer;
  std::string_view inner;
};
[[nodiscard]] NestedText FindNested(std::string_view text, std::string_view outer,
                                    std::string_view inner);

// The text of the value at "spec.devices.config[0].opaque" in a valid JSON document of any layout,
// as somebody sent it: numbers with all their digits, objects with their spaces. Empty when there
// is none. Of a name that an object has twice the last counts. Names with dots, brackets or escapes
// are not found.
[[nodiscard]] std::string_view SentText(std::string_view text, std::string_view path);

// The object in `text` with nothing but the values at these paths: what a selector looks at in
// thousands of texts. REQUIRES: as FindText(); no path leads into another's value.
[[nodiscard]] Value ReadPart(std::string_view text, std::span<const std::string> paths);

}  // namespace drachma::json
