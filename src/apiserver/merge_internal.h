#pragma once

#include <string>

#include "apiserver/merge.h"
#include "base/result.h"
#include "json/value.h"

// What merge.cc and shape_errors.cc share.
namespace drachma::apiserver {

inline bool IsMapForm(Shape::Form form) {
  return form == Shape::Form::kStruct || form == Shape::Form::kMap;
}
inline bool IsListForm(Shape::Form form) {
  return form == Shape::Form::kSet || form == Shape::Form::kListMap;
}

// What tells an item of a set or of a list with keys apart, as a FieldSet names it.
// ERRORS: kBadRequest for items that nothing tells apart.
[[nodiscard]] Result<std::string> ItemElement(const Shape& list, const json::Value& item);

}  // namespace drachma::apiserver
