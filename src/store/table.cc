#include "store/table.h"

#include <iterator>
#include <string>
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

Table::Slots::const_iterator Table::End(std::string_view scope) const {
  if (scope.empty()) return slots_.end();
  if (!IsPrefix(scope)) return slots_.upper_bound(scope);
  std::string behind(scope);
  ++behind.back();  // the character after '/'
  return slots_.lower_bound(std::string_view(behind));
}

Page Table::List(std::string_view scope, std::string_view after_key, std::size_t limit,
                 std::uint64_t marks) const {
  Page page;
  const auto end = End(scope);
  auto at = First(scope, after_key);
  if (at == slots_.end() || !InScope(scope, at->record->key)) return page;
  for (; at != end; ++at) {
    if (limit != 0 && page.records.size() == limit) break;
    if (const std::uint64_t mark = at->record->mark(); mark != 0 && (mark & marks) != marks) {
      continue;
    }
    page.records.push_back(at->record);
  }
  page.remaining = std::distance(at, end);
  page.more = page.remaining > 0;
  return page;
}

std::size_t Table::Count(std::string_view scope) const {
  if (scope.empty()) return slots_.size();
  return static_cast<std::size_t>(std::distance(slots_.lower_bound(scope), End(scope)));
}

}  // namespace drachma::store
