#pragma once

#include <string_view>

#include "json/value.h"

namespace drachma::api {

// What a decoded and defaulted object looks like after upstream has converted it to its internal
// type and back, which it does with everything it stores. Most kinds do not change by that. Pure;
// any thread.
void ThroughInternalForm(std::string_view group, std::string_view kind, json::Value& object);

}  // namespace drachma::api
