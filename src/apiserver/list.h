#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/selectors.h"
#include "apiserver/core.h"
#include "apiserver/kind.h"
#include "base/result.h"
#include "client/client.h"
#include "store/store.h"

namespace drachma::apiserver {

// Which objects of a kind a list or watch asks for.
struct Selection {
  std::string scope;  // of the store
  api::LabelSelector labels;
  api::FieldSelector fields;
  bool everything = true;            // no selector besides the scope
  std::vector<std::string> members;  // that the selectors look at, as dotted paths
  // Bits that the mark of every record has that the labels match (LabelMarks).
  std::uint64_t marks = 0;

  // Looks at the record's text when there is one, so that a selection over many records at rest
  // does not make trees of them.
  [[nodiscard]] bool Matches(const store::Record& record) const;
};
// ERRORS: kBadRequest for selectors that cannot be read or name an unknown field.
[[nodiscard]] Result<Selection> SelectionOf(const Kind& kind, const client::Request& call);

// The records a list request asks for, with limit and continue token.
// ERRORS: as SelectionOf; kInvalid for options that do not go together, kTimeout (504) for a
// resourceVersion that has not been reached, kExpired (410) for one that was forgotten.
[[nodiscard]] Result<Answer::List> ListRecords(const store::Store& store, const Kind& kind,
                                               const client::Request& call);

// The number of a resourceVersion; 0 for "" and "0". ERRORS: kInvalid.
[[nodiscard]] Result<store::Revision> ParseResourceVersion(const std::string& text);
// 504 "Too large resource version": the client is ahead of the server.
[[nodiscard]] Error TooLargeResourceVersion(store::Revision wanted, store::Revision current);

}  // namespace drachma::apiserver
