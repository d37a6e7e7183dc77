#pragma once

#include <string>

#include "base/result.h"
#include "cel/check/type.h"
#include "cel/eval/value.h"
#include "json/value.h"

namespace drachma::cli {

// Values of `debug cel`: one JSON object with one key, the kind: {"int":"1"}, {"list":[…]}.

// ERRORS: kBadRequest for what has another form.
[[nodiscard]] Result<cel::Value> ReadCelValue(const json::Value& value, cel::Arena& arena);
[[nodiscard]] Result<json::Value> WriteCelValue(const cel::Value& value);

}  // namespace drachma::cli
