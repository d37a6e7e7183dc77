#pragma once

#include <cstddef>
#include <set>
#include <string_view>

#include "store/record.h"
#include "store/store.h"

namespace drachma::store {

// The newest durable record of every key, in order of the keys. A key is held once, in its record.
// Not thread-safe: the engine guards it.
class Table {
 public:
  // Makes the table show `event`'s outcome.
  void Apply(const Event& event);
  // Sets the record of its key.
  void Set(RecordPtr record);
  void Erase(std::string_view key);

  // Null when there is none.
  [[nodiscard]] RecordPtr Find(std::string_view key) const;
  // The records of `scope` after `after_key`, at most `limit` (0: all), but none that has a mark
  // without all of `marks`. The page's revision is left to the caller.
  [[nodiscard]] Page List(std::string_view scope, std::string_view after_key, std::size_t limit,
                          std::uint64_t marks = 0) const;
  [[nodiscard]] std::size_t Count(std::string_view scope) const;
  [[nodiscard]] std::size_t size() const { return slots_.size(); }

 private:
  // A record may take another's place under the same key, which does not change the order.
  struct Slot {
    mutable RecordPtr record;
  };
  struct ByKey {
    using is_transparent = void;
    bool operator()(const Slot& a, const Slot& b) const { return a.record->key < b.record->key; }
    bool operator()(const Slot& a, std::string_view b) const { return a.record->key < b; }
    bool operator()(std::string_view a, const Slot& b) const { return a < b.record->key; }
  };
  using Slots = std::set<Slot, ByKey>;

  // Behind the last record of `scope`; the records between are not touched.
  [[nodiscard]] Slots::const_iterator End(std::string_view scope) const;
  [[nodiscard]] Slots::const_iterator First(std::string_view scope,
                                            std::string_view after_key) const;

  Slots slots_;
};

}  // namespace drachma::store
