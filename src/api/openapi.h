#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/features.h"
#include "json/value.h"

namespace drachma::api {

// One OpenAPI v3 document: its place below /openapi/v3 ("api/v1", "apis/apps/v1") and a hash of
// its content that changes when it does.
struct OpenApiEntry {
  std::string path;
  std::string hash;
};

// The documents of all group-versions that the gates let through, in discovery's order.
[[nodiscard]] std::vector<OpenApiEntry> OpenApiIndex(const FeatureGates& gates);
// The document at a path of the index, made from the tables; null for any other path. Costs some
// milliseconds: callers keep its text.
[[nodiscard]] json::Value OpenApiDocument(std::string_view path, const FeatureGates& gates);
// OpenAPI v2 (swagger) with everything in one document.
[[nodiscard]] json::Value OpenApiV2(const FeatureGates& gates);
// A swagger document in gnostic's Protobuf form
// (application/com.github.proto-openapi.spec.v2.v1.0+protobuf): kubectl up to 1.28 asks for it.
[[nodiscard]] std::string GnosticBytes(const json::Value& swagger);

}  // namespace drachma::api
