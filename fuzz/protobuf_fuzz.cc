// Protobuf bodies: envelopes, and messages of every served type (the first two bytes choose it).
// What decodes survives defaulting and decoding as JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/decode.h"
#include "api/kinds.h"
#include "api/protobuf.h"
#include "base/check.h"

using drachma::Result;
namespace api = drachma::api;
namespace json = drachma::json;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (api::IsProtobuf(bytes)) {
    (void)api::ReadEnvelope(bytes);
    (void)api::DecodeProtobuf(bytes, "v1", "Pod");
    return 0;
  }
  const auto kinds = api::AllKinds();
  const api::KindInfo& kind = kinds[data[0] % kinds.size()];
  const api::TypeInfo& type = *kind.versions[data[1] % kind.versions.size()].type;
  const Result<json::Value> value = api::DecodeProtobufMessage(bytes.substr(2), type);
  if (!value) return 0;
  DRA_CHECK(value->IsObject());
  (void)api::Decode(*value, type);
  return 0;
}
