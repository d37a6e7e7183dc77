// The HTTP request parser: whatever comes, it neither crashes nor depends on how the bytes were
// cut, and what it lets through keeps to the limits.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/request_parser.h"

namespace {

using drachma::net::HttpRequest;
using drachma::net::RequestParser;
using drachma::net::ServerLimits;

constexpr std::size_t kHeaderBytesMax = 4096;
constexpr std::size_t kBodyBytesMax = 1000;

struct Outcome {
  RequestParser::Step step = RequestParser::Step::kNeedMore;
  int status = 0;
  std::optional<HttpRequest> request;
};

// Shows `bytes` to a parser, `piece` bytes more at a time.
Outcome Parse(std::string_view bytes, std::size_t piece) {
  ServerLimits limits;
  limits.header_bytes_max = kHeaderBytesMax;
  limits.body_bytes_max = kBodyBytesMax;
  RequestParser parser(limits);
  std::string buffer;
  Outcome outcome;
  while (!bytes.empty() && outcome.step == RequestParser::Step::kNeedMore) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    std::size_t consumed = 0;
    outcome.step = parser.Feed(buffer, consumed);
    DRA_CHECK(consumed <= buffer.size());
    buffer.erase(0, consumed);
  }
  if (outcome.step == RequestParser::Step::kRefused) {
    outcome.status = parser.status();
    DRA_CHECK(outcome.status >= 400 && outcome.status < 600 && !parser.message().empty());
  }
  if (outcome.step == RequestParser::Step::kComplete) outcome.request = parser.Take();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Outcome whole = Parse(bytes, SIZE_MAX);
  const Outcome pieces = Parse(bytes, data[0] % 32 + 1);
  if (whole.request) {
    DRA_CHECK(pieces.request.has_value());
    DRA_CHECK(whole.request->target == pieces.request->target);
    DRA_CHECK(whole.request->headers.fields() == pieces.request->headers.fields());
    DRA_CHECK(whole.request->body == pieces.request->body);
    DRA_CHECK(whole.request->body.size() <= kBodyBytesMax);
    for (const auto& [name, value] : whole.request->headers.fields()) {
      DRA_CHECK(value.find_first_of("\r\n") == std::string::npos);
    }
  }
  return 0;
}
