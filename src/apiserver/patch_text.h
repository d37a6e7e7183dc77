#pragma once

#include <string>

#include "json/value.h"

namespace drachma::apiserver {

// The JSON text that upstream's patch library makes, which the errors of patches that do not decode
// show: objects that the patch reached into are sorted by key, all others keep their order.
// `object` is in the order of Go's structs. Pure; any thread.
//
// The text of `object` after a JSON merge patch.
[[nodiscard]] std::string MergedText(const json::Value& object, const json::Value& patch);
// The text of `patched`, which JSON patch operations have made.
[[nodiscard]] std::string OperatedText(const json::Value& patched, const json::Value& operations);

}  // namespace drachma::apiserver
