#include "store/table.h"

#include <utility>

#include "store/scope.h"

namespace drachma::store {

void Table::Apply(const Event& event) {
  if (event.type == EventType::kDeleted) {
    Erase(event.key());
  } else {
    Set(event.record);
  }
}

void Table::Set(RecordPtr record) {
  const auto found = slots_.find(std::string_view(record->key));
  if (found != slots_.end()) {
    found->record = std::move(record);
  } else {
    slots_.insert(Slot{std::move(record)});
  }
}

void Table::Erase(std::string_view key) {
  const auto found = slots_.find(key);
  if (found != slots_.end()) slots_.erase(found);
}

RecordPtr Table::Find(std::string_view key) const {
  const auto found = slots_.find(key);
  return found == slots_.end() ? nullptr : found->record;
}

Table::Slots::const_iterator Table::First(std::string_view scope,
                                          std::string_view after_key) const {
  return after_key < scope ? slots_.lower_bound(scope) : slots_.upper_bound(after_key);
}

Page Table::List(std::string_view scope, std::string_view after_key, std::size_t limit) const {
  Page page;
  auto at = First(scope, after_key);
  for (; at != slots_.end() && InScope(scope, at->record->key); ++at) {
    if (limit != 0 && page.records.size() == limit) break;
    page.records.push_back(at->record);
  }
  for (; at != slots_.end() && InScope(scope, at->record->key); ++at) ++page.remaining;
  page.more = page.remaining > 0;
  return page;
}

std::size_t Table::Count(std::string_view scope) const {
  if (scope.empty()) return slots_.size();
  std::size_t count = 0;
  for (auto at = First(scope, {}); at != slots_.end() && InScope(scope, at->record->key); ++at) {
    ++count;
  }
  return count;
}

}  // namespace drachma::store
