// The JSON reader and writer: what is read can be written, and reads back as the same value.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "json/json.h"
#include "json/part.h"

using drachma::Result;
namespace json = drachma::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<json::DuplicateKey> duplicates;
  const Result<json::Value> value = json::Read(text, {.duplicates = &duplicates});
  if (!value) return 0;
  const std::string written = json::Write(*value);
  const Result<json::Value> again = json::Read(written);
  DRA_CHECK(again.has_value());
  DRA_CHECK(*again == *value);
  for (const json::Member& member : value->Members()) {
    const bool plain = json::Write(member.key_value).size() == member.key().size() + 2 &&
                       member.key().find('.') == std::string_view::npos && !member.key().empty();
    if (plain) DRA_CHECK(json::FindText(written, member.key()) == json::Write(member.value));
  }
  // Only -0.0 is written so that it reads as another number, the integer 0, as in Go.
  DRA_CHECK(json::Write(json::Read(json::Write(*again)).value()) == json::Write(*again));
  const Result<json::Value> pretty = json::Read(json::WritePretty(*value));
  DRA_CHECK(pretty.has_value() && *pretty == *value);
  return 0;
}
