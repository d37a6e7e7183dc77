#pragma once

#include <vector>

#include "json/value.h"
#include "json/yaml.h"
#include "lint/rules.h"

namespace drachma::lint {

// What an API server of Kubernetes 1.37 would refuse about the object: unknown kinds and fields,
// wrong types, and every rule of the kind for creation, with upstream's texts.
void FindSchemaFaults(const json::YamlDocument& document, std::vector<Found>& found);

}  // namespace drachma::lint
