#pragma once

#include <vector>

#include "json/value.h"
#include "lint/rules.h"

namespace drachma::lint {

// Rules that read the types of the API: fields whose name is nearly right, and values of another
// form than the field has ("true" for true, one object where a list is wanted).
void ShapesOfFields(const json::Value& object, const RuleContext& context,
                    std::vector<Found>& found);

}  // namespace drachma::lint
