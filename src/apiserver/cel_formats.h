#pragma once

#include <optional>
#include <string_view>

#include "cel/check/type.h"
#include "cel/eval/value.h"

namespace drachma::apiserver {

// Texts of a `format` of OpenAPI as CEL sees them (apiserver's pkg/cel/common): `date` and
// `date-time` are timestamps, `duration` is a duration, `byte` bytes.

// The type of texts of a format; string for all others.
[[nodiscard]] const cel::Type* TypeOfFormat(std::string_view format);
// The value of a text; an error for one that has not this format. Other texts are kept by
// reference.
[[nodiscard]] cel::Value ValueOfFormat(cel::Arena& arena, std::string_view format,
                                       std::string_view text);

// The nanoseconds of a duration in Go's notation, or in units with names ("3 days 2 hours"), as
// kube-openapi reads it; nothing for what is none.
[[nodiscard]] std::optional<std::int64_t> ParseOpenApiDuration(std::string_view text);

}  // namespace drachma::apiserver
