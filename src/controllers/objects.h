#pragma once

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client/client.h"
#include "client/event_recorder.h"
#include "json/value.h"

namespace drachma::controllers {

// The uids of objects known to be gone, the latest `most` of them: spares a live GET for each owner
// or consumer that the caches do not hold.
class GoneUids {
 public:
  explicit GoneUids(std::size_t most) : most_(most) {}
  void Add(std::string_view uid);
  [[nodiscard]] bool Contains(std::string_view uid) const;
  // What the answer to a GET of the name of the object `uid` says: when the object is gone it is
  // remembered, and `on_gone` called. ERRORS: those of the answer that say neither.
  [[nodiscard]] Status Learn(const Result<json::Value>& answer, std::string_view uid,
                             const std::function<void()>& on_gone);

 private:
  const std::size_t most_;
  std::list<std::string> order_;  // oldest first
  std::unordered_map<std::string, bool> known_;
};

// A reference to an object for events; listed objects may lack kind and apiVersion.
[[nodiscard]] client::ObjectReference Reference(std::string_view api_version, std::string_view kind,
                                                const json::Value& object);

// A condition of status.conditions.
[[nodiscard]] json::Value NewCondition(std::string_view type, bool status, std::string_view reason,
                                       std::string_view message, std::string_view now);

// `list` with `condition` in the place of the one of its type (or at the end). lastTransitionTime
// of the old one stays when the status is the same.
[[nodiscard]] json::Value WithCondition(const json::Value& list, json::Value condition);

// metadata.finalizers of `object` without `finalizer`.
[[nodiscard]] json::Value FinalizersWithout(const json::Value& object, std::string_view finalizer);
// The update of `object` that takes `finalizer` away.
[[nodiscard]] client::Request RemoveFinalizerRequest(const client::Resource& resource,
                                                     const json::Value& object,
                                                     std::string_view finalizer);

// "pods" 1 → "1 pod"; plural by an s.
[[nodiscard]] std::string Counted(std::size_t count, std::string_view noun);

}  // namespace drachma::controllers
