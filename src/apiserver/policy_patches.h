#pragma once

#include <expected>
#include <string>

#include "apiserver/merge.h"
#include "cel/eval/value.h"
#include "json/value.h"

namespace drachma::apiserver {

// What the values of mutations do to objects (apiserver's pkg/admission/plugin/policy/mutating/
// patch). Errors are upstream's words. Pure; any thread.

// `object` with the fields of the value of an `Object` literal, merged as server-side apply merges.
// Lists and maps that have one owner as a whole cannot be changed.
[[nodiscard]] std::expected<json::Value, std::string> ApplyConfiguration(const json::Value& object,
                                                                         const cel::Value& config,
                                                                         const Shape& shape);
// `object` after the operations of a list of `JSONPatch` literals; as it was when one of the tests
// among them fails.
[[nodiscard]] std::expected<json::Value, std::string> ApplyJsonPatches(const json::Value& object,
                                                                       const cel::Value& patches);

}  // namespace drachma::apiserver
