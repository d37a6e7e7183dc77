#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/kind.h"
#include "json/value.h"

namespace drachma::apiserver {

// The OpenAPI of custom resources, as kubectl needs it for explain and for field validation. Pure.

enum class OpenApiVersion : std::uint8_t { kV2, kV3 };

// "com.nvidia.resource.v1beta1.ComputeDomain": the name of a kind's schema.
[[nodiscard]] std::string CustomSchemaName(std::string_view group, std::string_view version,
                                           std::string_view kind);

// Adds the schemas and paths of those of `kinds` that are custom and served in group and version.
void AddCustomOpenApi(const std::vector<KindPtr>& kinds, std::string_view group,
                      std::string_view version, OpenApiVersion form, json::Value& schemas,
                      json::Value& paths);

// The whole v3 document of a group-version that only custom resources are in; null when there are
// none.
[[nodiscard]] json::Value CustomOpenApiDocument(const std::vector<KindPtr>& kinds,
                                                std::string_view group, std::string_view version);

}  // namespace drachma::apiserver
