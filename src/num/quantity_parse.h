#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "num/decimal.h"
#include "num/quantity.h"

namespace drachma::num {

// What a quantity's text says: value * 10^scale, or `big` beyond the fast path.
struct ParsedQuantity {
  QuantityFormat format = QuantityFormat::kDecimalSI;
  std::int64_t value = 0;
  std::int32_t scale = 0;
  bool keep_text = false;  // upstream keeps the text as the canonical form
  std::optional<Decimal> big;
};

// ERRORS: kBadRequest with upstream's three texts. Private to this folder.
Result<ParsedQuantity> ParseQuantity(std::string_view text);

}  // namespace drachma::num
