#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drachma::apiserver {

// In which form a client wants its answer.
struct Accepted {
  enum class Media : std::uint8_t { kJson, kYaml };
  enum class As : std::uint8_t { kObject, kTable, kPartialMetadata };
  // Whether text is indented for people.
  enum class Pretty : std::uint8_t { kNo, kYes };

  Media media = Media::kJson;
  As as = As::kObject;
  // Of kPartialMetadata: what was asked for, one object's or a list's.
  enum class Form : std::uint8_t { kOne, kList };
  Form form = Form::kOne;
  std::string meta_version = "v1";  // of Table and PartialObjectMetadata: "v1" or "v1beta1"
  Pretty pretty = Pretty::kNo;
};

// What is allowed in the answer to a request: reviews, Scales and Statuses have no tables.
enum class Transforms : std::uint8_t { kNo, kYes };

// Whether the request may be answered as a stream, which errors tell.
enum class Streams : std::uint8_t { kNo, kYes };

// The first clause of an Accept header that can be served; JSON when there is no header. Protobuf
// is never answered: clients that prefer it name JSON, too.
// ERRORS: kNotAcceptable.
[[nodiscard]] Result<Accepted> Negotiate(std::string_view accept, Transforms transforms,
                                         Streams streams);

// Which form of discovery a client asks for.
enum class DiscoveryForm : std::uint8_t { kLegacy, kAggregatedV2, kAggregatedV2Beta1 };
[[nodiscard]] DiscoveryForm NegotiateDiscovery(std::string_view accept);

// "application/json" of "Application/JSON; charset=utf-8".
[[nodiscard]] std::string MediaTypeOf(std::string_view content_type);

}  // namespace drachma::apiserver
