#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drachma::api {

// What is wrong with a label key or value, in upstream's words (apimachinery's
// api/validate/content); empty when nothing is.
[[nodiscard]] std::vector<std::string> LabelKeyFaults(std::string_view key);
[[nodiscard]] std::vector<std::string> LabelValueFaults(std::string_view value);

}  // namespace drachma::api
