#pragma once

#include <memory>

#include "allocator/table.h"
#include "base/result.h"

namespace drachma::allocator {

// Decodes a ResourceSlice into the table's form. ERRORS: kBadRequest when it cannot be read.
// Private to this folder.
[[nodiscard]] Result<std::unique_ptr<Slice>> ReadSlice(const json::Value& json);

}  // namespace drachma::allocator
