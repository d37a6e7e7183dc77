#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <random>
#include <string_view>

#include "json/value.h"

// How values lie in memory. Private to value.cc.
namespace drachma::json {

// Objects up to this size are searched member by member; larger ones carry a hash index.
inline constexpr std::uint32_t kLinearMax = 16;

__extension__ using Wide = unsigned __int128;

inline std::uint64_t HashSeed() {
  // Random per process, so that nobody can prepare keys that collide.
  static const std::uint64_t seed = [] {
    std::random_device device;
    return (static_cast<std::uint64_t>(device()) << 32) | device();
  }();
  return seed;
}

inline std::uint32_t HashKey(std::string_view key) {
  std::uint64_t hash = HashSeed() ^ (key.size() * 0x9E3779B97F4A7C15ULL);
  const char* at = key.data();
  std::size_t left = key.size();
  const auto mix = [&hash](std::uint64_t word) {
    const Wide product = static_cast<Wide>(hash ^ word) * 0xD6E8FEB86659FD93ULL;
    hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  };
  while (left >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    mix(word);
    at += 8;
    left -= 8;
  }
  std::uint64_t word = 0;
  std::memcpy(&word, at, left);
  mix(word);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

inline void* Allocate(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// The nodes are one block each: a header and what it holds behind it, moved by realloc. Values
// point nowhere into themselves, so moving their bytes moves them.
struct Value::StringNode {
  std::atomic<std::uint32_t> references{1};
  std::uint32_t size = 0;

  char* data() { return reinterpret_cast<char*>(this + 1); }
};

struct Value::ArrayNode {
  std::atomic<std::uint32_t> references{1};
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
  std::uint32_t unused = 0;

  Value* items() { return reinterpret_cast<Value*>(this + 1); }
  static std::size_t Bytes(std::size_t capacity) {
    return sizeof(ArrayNode) + capacity * sizeof(Value);
  }
  static ArrayNode* Make(std::size_t capacity) {
    auto* node = new (Allocate(Bytes(capacity))) ArrayNode;
    node->capacity = static_cast<std::uint32_t>(capacity);
    return node;
  }
};

struct Value::ObjectNode {
  std::atomic<std::uint32_t> references{1};
  std::uint32_t size = 0;
  std::uint32_t capacity = 0;
  std::uint32_t index_mask = 0;
  // Open addressing: member number + 1, 0 is free. Null in small objects. Kept up to date by every
  // change, so that readers of shared objects never write.
  std::uint32_t* index = nullptr;

  Member* members() { return reinterpret_cast<Member*>(this + 1); }
  static std::size_t Bytes(std::size_t capacity) {
    return sizeof(ObjectNode) + capacity * sizeof(Member);
  }
  static ObjectNode* Make(std::size_t capacity) {
    auto* node = new (Allocate(Bytes(capacity))) ObjectNode;
    node->capacity = static_cast<std::uint32_t>(capacity);
    return node;
  }

  Member* Find(std::string_view key) {
    if (index == nullptr) {
      for (Member *at = members(), *end = at + size; at != end; ++at) {
        if (at->key() == key) return at;
      }
      return nullptr;
    }
    for (std::uint32_t slot = HashKey(key) & index_mask; index[slot] != 0;
         slot = (slot + 1) & index_mask) {
      Member* member = members() + (index[slot] - 1);
      if (member->key() == key) return member;
    }
    return nullptr;
  }

  void IndexMember(std::uint32_t number) {
    std::uint32_t slot = HashKey(members()[number].key()) & index_mask;
    while (index[slot] != 0) slot = (slot + 1) & index_mask;
    index[slot] = number + 1;
  }

  void RebuildIndex() {
    std::free(index);
    index = nullptr;
    if (size <= kLinearMax) return;
    std::uint32_t slots = 64;
    while (slots < size * 2) slots *= 2;
    index = static_cast<std::uint32_t*>(std::calloc(slots, sizeof(std::uint32_t)));
    if (index == nullptr) throw std::bad_alloc();
    index_mask = slots - 1;
    for (std::uint32_t number = 0; number < size; ++number) IndexMember(number);
  }

  // After a member was put at the end.
  void NoteAppended() {
    if (index != nullptr && size * 4 < (index_mask + 1) * 3) {
      IndexMember(size - 1);
    } else if (index != nullptr || size > kLinearMax) {
      RebuildIndex();
    }
  }
};

}  // namespace drachma::json
