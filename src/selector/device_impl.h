#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "cel/eval/value.h"
#include "selector/device.h"

namespace drachma::selector {

// The hash of a qualified name, "domain/id".
[[nodiscard]] std::uint64_t HashName(std::string_view qualified_name);

// Values by qualified name; lookup by a hash that was worked out beforehand.
class NameTable {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    std::string name;  // "domain/id"
    std::size_t domain_size = 0;
    cel::Value value;

    [[nodiscard]] std::string_view domain() const {
      return std::string_view(name).substr(0, domain_size);
    }
    [[nodiscard]] std::string_view id() const {
      return std::string_view(name).substr(domain_size + 1);
    }
  };

  // Replaces an entry of the same name.
  void Put(std::string_view domain, std::string_view id, const cel::Value& value);

  // Null when there is none. The mask of the table is small enough for a handful of probes.
  [[nodiscard]] const cel::Value* Find(std::uint64_t hash, std::string_view name) const {
    if (slots_.empty()) return nullptr;
    for (std::size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const std::uint32_t number = slots_[slot];
      if (number == 0) return nullptr;
      const Entry& entry = entries_[number - 1];
      if (entry.hash == hash && entry.name == name) return &entry.value;
    }
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  void Rebuild();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  // numbers of entries from 1
  std::size_t mask_ = 0;
};

struct Device::Impl {
  std::string driver;
  cel::Value driver_value;
  bool allow_multiple_allocations = false;
  NameTable attributes;
  NameTable capacity;
  // What makes every evaluation fail, in upstream's words; empty mostly.
  std::string error;
  cel::Arena arena;  // values

  // The whole device as a map, for expressions that do more than read single values. Made when it
  // is first asked for.
  [[nodiscard]] const cel::Value& AsMap() const;

 private:
  mutable std::mutex map_mutex_;
  mutable cel::Arena map_arena_;
  mutable cel::Value map_;
  mutable std::atomic<bool> has_map_ = false;
};

}  // namespace drachma::selector
