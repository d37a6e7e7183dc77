#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/types.h"
#include "base/result.h"
#include "json/json.h"
#include "json/value.h"

namespace drachma::api {

// Whether unknown and duplicate fields are looked for. fieldValidation=Strict and Warn both look:
// the API server makes an error or warnings of what it finds.
enum class StrictFields : std::uint8_t { kReport, kIgnore };

struct Decoded {
  // What a Go round trip leaves of the object: unknown fields gone, empty optional ones gone,
  // zero values of the others written out, quantities and times canonical, members in the order
  // of the struct's fields.
  json::Value value;
  // `unknown field "spec.foo"`, `duplicate field "spec.x"`, in upstream's order, at most 100.
  std::vector<std::string> strict_errors;
};

// Reads `object` as the struct `type`, as sigs.k8s.io/json does: names are case-sensitive.
// `duplicates` are what json::Read or json::ReadYamlValue noted about its text; `sent` is its JSON
// text, if there is one: errors show numbers as they stand there.
// ERRORS: kBadRequest with Go's text ("json: cannot unmarshal string into Go struct field
// ResourceClaimSpec.spec.devices of type v1.DeviceClaim", "quantities must match the regular
// expression …", `parsing time "x" as …`).
[[nodiscard]] Result<Decoded> Decode(const json::Value& object, const TypeInfo& type,
                                     StrictFields strict = StrictFields::kReport,
                                     std::span<const json::DuplicateKey> duplicates = {},
                                     std::string_view sent = {});

// Decode without reports: the canonical form. Of an object that is canonical already it is the
// identity.
[[nodiscard]] Result<json::Value> Canonical(const json::Value& object, const TypeInfo& type);

// The text of runtime's strict decoding error: `strict decoding error: unknown field "a", …`.
[[nodiscard]] std::string StrictErrorText(std::span<const std::string> strict_errors);

}  // namespace drachma::api
