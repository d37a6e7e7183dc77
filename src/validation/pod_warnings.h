#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace drachma::validation {

// Texts of Warning headers about a pod or template that is accepted (pkg/api/pod/warnings.go):
// what probably is not meant. `path` is "" for pods and the template's path in other kinds.
[[nodiscard]] std::vector<std::string> WarningsOfPod(const json::Value& spec,
                                                     const json::Value& meta,
                                                     const std::string& path);

}  // namespace drachma::validation
