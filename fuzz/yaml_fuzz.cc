// The YAML reader and writer: no text breaks them, and what was read is written so that it reads
// back as the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "json/yaml.h"

using drachma::Result;
namespace json = drachma::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<json::DuplicateKey> duplicates;
  const Result<json::Value> value = json::ReadYamlValue(text, {.duplicates = &duplicates});
  const Result<std::vector<json::YamlDocument>> documents = json::ReadYaml(text);
  if (documents) {
    for (const json::YamlDocument& document : *documents) (void)document.PlaceOf("a.b[0]");
  }
  if (!value || value->IsNull()) return 0;
  const Result<json::Value> again = json::ReadYamlValue(json::WriteYaml(*value));
  DRA_CHECK(again.has_value());
  DRA_CHECK(*again == *value);
  return 0;
}
