#pragma once

#include <string>
#include <string_view>

#include "api/types.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// Named limits of the decoder.
inline constexpr int kProtobufDepthMax = 100;

// Whether a body begins with the magic bytes of Kubernetes' Protobuf envelope ("k8s\0").
[[nodiscard]] bool IsProtobuf(std::string_view body);

// The envelope (runtime.Unknown) of a body.
struct ProtobufEnvelope {
  std::string_view api_version;
  std::string_view kind;
  std::string_view raw;
  std::string_view content_type;
};
// ERRORS: kBadRequest for bytes that are no envelope.
[[nodiscard]] Result<ProtobufEnvelope> ReadEnvelope(std::string_view body);

// The object in an envelope as canonical JSON (decode.h), with apiVersion and kind of the
// envelope, or the defaults given when it has none.
// ERRORS: kBadRequest for broken bytes; for a kind unknown, `no kind "X" is registered for version
// "v" …`.
[[nodiscard]] Result<json::Value> DecodeProtobuf(std::string_view body,
                                                 std::string_view default_api_version = {},
                                                 std::string_view default_kind = {});

// One message of `type` without envelope.
[[nodiscard]] Result<json::Value> DecodeProtobufMessage(std::string_view bytes,
                                                        const TypeInfo& type);

}  // namespace drachma::api
