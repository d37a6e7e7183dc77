// The small decoders of the net room: queries, escapes, gzip, base64, PEM.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/certificates.h"
#include "net/http.h"
#include "net/signing.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace drachma::net;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  DRA_CHECK(PercentDecode(PercentEncode(text)) == text);
  for (const auto& [key, value] : ParseQuery(text)) DRA_CHECK(key.size() + value.size() <= size);
  (void)AcceptsGzip(Headers{{"Accept-Encoding", std::string(text)}});
  DRA_CHECK(Gunzip(Gzip({Share(std::string(text))}), size) == std::string(text));
  constexpr std::size_t kUnpackedMax = 100'000;
  if (const auto unpacked = Gunzip(text, kUnpackedMax)) DRA_CHECK(unpacked->size() <= kUnpackedMax);
  DRA_CHECK(Base64Decode(Base64Encode(text)).value() == text);
  DRA_CHECK(Base64UrlDecode(Base64UrlEncode(text)).value() == text);
  (void)Base64Decode(text);
  (void)DescribeCertificate(text);
  (void)SigningKey::FromPem(text);
  return 0;
}
