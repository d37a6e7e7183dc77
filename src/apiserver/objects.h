#pragma once

#include <string>
#include <string_view>

#include "apiserver/core.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The object (or List object) of an answer in the version that was asked for, as a value: what
// clients in process get.
[[nodiscard]] Result<json::Value> ObjectOf(const Answer& answer);
// {"resourceVersion": …, "continue": …, "remainingItemCount": …}.
[[nodiscard]] json::Value ListMetaOf(const Answer::List& list);
// The object of a BOOKMARK event.
enum class InitialEventsEnd : std::uint8_t { kNo, kYes };
[[nodiscard]] json::Value BookmarkOf(std::string_view kind, std::string_view api_version,
                                     store::Revision revision, InitialEventsEnd initial);

// Whether the object's text is longer than `bytes`; it is only made when that may be.
[[nodiscard]] bool IsLargerThan(const json::Value& object, std::size_t bytes);

}  // namespace drachma::apiserver
