#include "apiserver/objects.h"

#include <utility>

#include "json/json.h"

namespace drachma::apiserver {

json::Value ListMetaOf(const Answer::List& list) {
  json::Value meta = json::Value::Object({{"resourceVersion", std::to_string(list.revision)}});
  if (!list.continue_token.empty()) meta.Set("continue", list.continue_token);
  if (list.remaining) meta.Set("remainingItemCount", *list.remaining);
  return meta;
}

Result<json::Value> ObjectOf(const Answer& answer) {
  if (answer.kind == nullptr) return answer.Object();
  const std::string api_version = answer.kind->ApiVersion(answer.version);
  if (!answer.list) return answer.kind->Convert(answer.Object(), api_version);
  json::Value items = json::Value::Array();
  items.Reserve(answer.list->records.size());
  for (const store::RecordPtr& record : answer.list->records) {
    DRA_ASSIGN(json::Value item, answer.kind->Convert(record->Object(), api_version));
    items.Append(std::move(item));
  }
  return json::Value::Object({{"kind", answer.kind->info().list_kind},
                              {"apiVersion", api_version},
                              {"metadata", ListMetaOf(*answer.list)},
                              {"items", std::move(items)}});
}

bool IsLargerThan(const json::Value& object, std::size_t bytes) {
  constexpr std::size_t kTextPerHeapByteMax = 6;  // a control character is written as \u0000
  return object.HeapBytes() > bytes / kTextPerHeapByteMax && json::Write(object).size() > bytes;
}

json::Value BookmarkOf(std::string_view kind, std::string_view api_version,
                       store::Revision revision, InitialEventsEnd initial) {
  json::Value meta = json::Value::Object({{"resourceVersion", std::to_string(revision)}});
  if (initial == InitialEventsEnd::kYes) {
    meta.Set("annotations", json::Value::Object({{"k8s.io/initial-events-end", "true"}}));
  }
  return json::Value::Object(
      {{"kind", kind}, {"apiVersion", api_version}, {"metadata", std::move(meta)}});
}

}  // namespace drachma::apiserver
