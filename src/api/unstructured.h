#pragma once

#include "api/decode.h"
#include "api/types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// Reads `object` as the struct `type` the way upstream turns maps into structs
// (runtime.FromUnstructured) after strategic merge patches and applies. That differs from Decode()
// in its errors, in numbers (5.0 is an integer, too large ones wrap around), and in that maps leave
// no step in the paths of unknown fields, which come sorted.
// ERRORS: kBadRequest with Go's text ("cannot restore struct from: string", "unrecognized type:
// int64", "cannot convert float64 to int64").
[[nodiscard]] Result<Decoded> FromUnstructured(const json::Value& object, const TypeInfo& type,
                                               StrictFields strict = StrictFields::kIgnore);

}  // namespace drachma::api
