// Schemas of custom resources: {"schema": …, "object": …}, or a whole definition with an object.
// What the server accepts as a schema prunes, defaults, validates and prints any object.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/custom_kind.h"
#include "apiserver/human.h"
#include "apiserver/structural_schema.h"
#include "base/check.h"
#include "json/json.h"

using drachma::Result;
using drachma::Time;
namespace api = drachma::api;
namespace apiserver = drachma::apiserver;
namespace json = drachma::json;

namespace {

void TryDefinition(const json::Value& definition, const json::Value& object) {
  const auto kind = apiserver::MakeCustomKind(definition);
  if (!kind) return;
  const std::string version((*kind)->info().versions.front().version);
  Result<api::Decoded> decoded = (*kind)->Decode(object, version, api::StrictFields::kReport, {});
  if (!decoded) return;
  (*kind)->SetDefaults(version, Time{}, decoded->value);
  apiserver::Ages ages{Time{}};
  (void)(*kind)->Cells(decoded->value, version, ages);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<json::Value> input =
      json::Read(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!input) return 0;
  if (input->Has("spec")) TryDefinition(*input, (*input)["object"]);
  const auto schema = apiserver::StructuralSchema::Parse((*input)["schema"]);
  if (!schema) return 0;
  json::Value object = (*input)["object"];
  std::vector<std::string> unknown;
  (*schema)->Prune(object, &unknown);
  (*schema)->SetDefaults(object);
  (void)(*schema)->Validate(object);
  json::Value again = object;
  std::vector<std::string> none;
  (*schema)->Prune(again, &none);
  return 0;
}
