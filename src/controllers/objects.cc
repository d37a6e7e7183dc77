#include "controllers/objects.h"

#include <fmt/format.h>

#include <utility>

#include "client/objects.h"

namespace drachma::controllers {

using json::Value;

void GoneUids::Add(std::string_view uid) {
  if (!known_.emplace(uid, true).second) return;
  order_.emplace_back(uid);
  if (order_.size() > most_) {
    known_.erase(order_.front());
    order_.pop_front();
  }
}

bool GoneUids::Contains(std::string_view uid) const { return known_.contains(std::string(uid)); }

Status GoneUids::Learn(const Result<Value>& answer, std::string_view uid,
                       const std::function<void()>& on_gone) {
  const bool gone = answer ? client::UidOf(*answer) != uid : answer.error().code == Code::kNotFound;
  if (gone) {
    Add(uid);
    on_gone();
  }
  if (answer || gone) return {};
  return std::unexpected(answer.error());
}

client::ObjectReference Reference(std::string_view api_version, std::string_view kind,
                                  const Value& object) {
  return {.api_version = std::string(api_version),
          .kind = std::string(kind),
          .ns = std::string(client::NamespaceOf(object)),
          .name = std::string(client::NameOf(object)),
          .uid = std::string(client::UidOf(object)),
          .resource_version = std::string(client::ResourceVersionOf(object))};
}

Value NewCondition(std::string_view type, bool status, std::string_view reason,
                   std::string_view message, std::string_view now) {
  return Value::Object({{"type", type},
                        {"status", status ? "True" : "False"},
                        {"lastTransitionTime", now},
                        {"reason", reason},
                        {"message", message}});
}

Value WithCondition(const Value& list, Value condition) {
  Value result = list.IsArray() ? list : Value::Array();
  for (std::size_t i = 0; i < result.size(); ++i) {
    Value next = result.Items()[i];
    if (next["type"].AsString() != condition["type"].AsString()) continue;
    if (next["status"].AsString() == condition["status"].AsString()) {
      condition.Set("lastTransitionTime", next["lastTransitionTime"]);
    }
    // Fields of others stay, so that saying the same again changes nothing.
    for (const json::Member& field : condition.Members()) next.Set(field.key(), field.value);
    result.EditItem(i) = std::move(next);
    return result;
  }
  result.Append(std::move(condition));
  return result;
}

Value FinalizersWithout(const Value& object, std::string_view finalizer) {
  Value kept = Value::Array();
  for (const Value& present : object["metadata"]["finalizers"].Items()) {
    if (present.AsString() != finalizer) kept.Append(present);
  }
  return kept;
}

client::Request RemoveFinalizerRequest(const client::Resource& resource, const Value& object,
                                       std::string_view finalizer) {
  Value changed = object;
  changed.Edit("metadata").Set("finalizers", FinalizersWithout(object, finalizer));
  return client::UpdateRequest(resource, std::move(changed));
}

std::string Counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace drachma::controllers
