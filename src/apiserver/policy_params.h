#pragma once

#include <string>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/kind.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The kind that a policy's `paramKind` names. ERRORS: kBadRequest when nothing serves it.
[[nodiscard]] Result<KindPtr> ParamKindOf(const KindTable& kinds, const json::Value& param_kind);

// The objects that a binding's `paramRef` gives a policy for a request in `ns` (upstream's
// CollectParams), in the order of their names and in the version of `param_kind`; one null when the
// policy takes none or the binding gives none. Empty when there are none and that is allowed.
// ERRORS: kBadRequest with upstream's words.
[[nodiscard]] Result<std::vector<json::Value>> CollectParams(const KindTable& kinds,
                                                             const ObjectReader& objects,
                                                             const json::Value& param_kind,
                                                             const json::Value& param_ref,
                                                             const std::string& ns);

}  // namespace drachma::apiserver
