#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apiserver/codec.h"
#include "apiserver/core.h"
#include "apiserver/kind.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The transforms of the three kinds of writes. They hold copies of what they need of the request;
// `kind` must outlive them. Each follows managed fields and answers in the storage version.

// `object` is in the request's version, with defaults.
[[nodiscard]] Transform CreateTransform(const Kind& kind, const ApiRequest& request,
                                        json::Value object, Time now);
[[nodiscard]] Transform UpdateTransform(const Kind& kind, const ApiRequest& request,
                                        json::Value object, Time now);
// ERRORS (of the transform): kInvalid for patches that do not apply or whose result does not
// decode, kConflict for an apply against other managers, kBadRequest.
[[nodiscard]] Transform PatchTransform(const Kind& kind, const ApiRequest& request,
                                       ParsedBody patch, std::function<Time()> now,
                                       std::vector<std::string>& warnings);

// Clears what only the server writes in an object to be created.
void WipeSystemFields(json::Value& object);
// ERRORS: kBadRequest when the object has no name or another one than the URL.
[[nodiscard]] Status CheckName(const json::Value& object, const std::string& name);
// Removes repeated owner references with upstream's warning.
void DedupOwnerReferences(json::Value& object, std::vector<std::string>& warnings);
// Takes over the managed fields of `existing` when only their times differ, so that a write that
// changes nothing else is none.
void KeepManagedFieldsTimes(json::Value& object, const json::Value& existing);
// Whether storing `object` over `existing` completes its deletion: no finalizers left, and the
// grace period over.
[[nodiscard]] bool DeletesItself(const Kind& kind, const json::Value& object,
                                 const json::Value& existing);
// CreateOptions, UpdateOptions or PatchOptions as admission sees them.
[[nodiscard]] json::Value OptionsOf(const ApiRequest& request, bool creates);

}  // namespace drachma::apiserver
