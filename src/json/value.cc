#include "json/value.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "json/value_nodes.h"

namespace drachma::json {

namespace {

// Trees deeper than this are freed from a list instead of by recursion, so that no depth of input
// can exhaust the stack.
constexpr int kReleaseDepthMax = 200;

const Value& NullValue() {
  static const Value null;
  return null;
}

std::uint32_t GrownCapacity(std::uint32_t capacity, std::size_t needed) {
  const std::size_t grown = std::max<std::size_t>(needed, capacity + capacity / 2 + 1);
  DRA_CHECK(grown < UINT32_MAX);
  return static_cast<std::uint32_t>(grown);
}

}  // namespace

Value::Value(std::string_view value) : kind_(Kind::kString) {
  if (value.size() <= kInlineMax) {
    if (!value.empty()) std::memcpy(payload_, value.data(), value.size());
    inline_size_ = static_cast<std::uint8_t>(value.size());
    return;
  }
  DRA_CHECK(value.size() < UINT32_MAX);
  auto* node = new (Allocate(sizeof(StringNode) + value.size())) StringNode;
  node->size = static_cast<std::uint32_t>(value.size());
  std::memcpy(node->data(), value.data(), value.size());
  inline_size_ = kHeapString;
  Store(node);
}

Value& Value::operator=(const Value& other) noexcept {
  if (this == &other) return *this;
  // The old value may own `other` (v = v["member"]), so it goes last.
  const Value old(std::move(*this));
  CopyFrom(other);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  if (this == &other) return *this;
  const Value old(std::move(*this));
  TakeFrom(other);
  return *this;
}

void Value::Retain() const noexcept {
  // All nodes begin with their counter.
  Load<StringNode*>()->references.fetch_add(1, std::memory_order_relaxed);
}

namespace {
thread_local int release_depth = 0;
thread_local std::vector<Value>* release_later = nullptr;
}  // namespace

void Value::Release() noexcept {
  if (Load<StringNode*>()->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (kind_ == Kind::kString) {
    std::free(Load<StringNode*>());
    return;
  }
  if (release_depth >= kReleaseDepthMax) {
    Load<StringNode*>()->references.store(1, std::memory_order_relaxed);
    Value later;
    std::memcpy(static_cast<void*>(&later), this, sizeof(Value));
    release_later->push_back(std::move(later));
    return;
  }
  std::vector<Value> later;
  const bool outermost = release_depth == 0;
  if (outermost) release_later = &later;
  ++release_depth;
  if (kind_ == Kind::kArray) {
    auto* node = Load<ArrayNode*>();
    std::destroy_n(node->items(), node->size);
    std::free(node);
  } else {
    auto* node = Load<ObjectNode*>();
    std::destroy_n(node->members(), node->size);
    std::free(node->index);
    std::free(node);
  }
  while (outermost && !later.empty()) {
    const Value next = std::move(later.back());
    later.pop_back();
  }
  --release_depth;
}

Value Value::Object(std::initializer_list<std::pair<std::string_view, Value>> members) {
  Value object;
  object.OwnedObject(members.size());
  for (const auto& [key, value] : members) object.Set(key, value);
  return object;
}

Value Value::Array(std::initializer_list<Value> items) {
  Value array;
  auto* node = array.OwnedArray(items.size());
  for (const Value& item : items) new (node->items() + node->size++) Value(item);
  return array;
}

Value Value::Array(std::vector<Value> items) {
  Value array;
  auto* node = array.OwnedArray(items.size());
  for (Value& item : items) new (node->items() + node->size++) Value(std::move(item));
  return array;
}

Value Value::TakeArray(std::span<Value> items) {
  Value array;
  auto* node = array.OwnedArray(items.size());
  for (Value& item : items) new (node->items() + node->size++) Value(std::move(item));
  return array;
}

bool Value::SameKey(const Value& a, const Value& b) {
  // Short strings are padded with zeros, so that all 16 bytes decide.
  if (a.inline_size_ != kHeapString || b.inline_size_ != kHeapString) {
    return std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof(Value)) ==
           0;
  }
  return a.Load<void*>() == b.Load<void*>() || a.AsString() == b.AsString();
}

Value Value::TakeObject(std::span<Value> keys_and_values, DuplicateSink on_duplicate,
                        void* context) {
  Value object;
  const std::size_t count = keys_and_values.size() / 2;
  auto* node = object.OwnedObject(count);
  for (std::size_t number = 0; number < count; ++number) {
    Value& key = keys_and_values[number * 2];
    Value& value = keys_and_values[number * 2 + 1];
    Member* same = nullptr;
    if (node->index != nullptr) {
      same = node->Find(key.AsString());
    } else {
      for (Member *at = node->members(), *end = at + node->size; at != end; ++at) {
        if (SameKey(at->key_value, key)) same = at;
      }
    }
    if (same != nullptr) {
      same->value = std::move(value);
      if (on_duplicate != nullptr) on_duplicate(context, number);
      continue;
    }
    new (node->members() + node->size++) Member{std::move(key), std::move(value)};
    node->NoteAppended();
  }
  return object;
}

bool Value::AsBool(bool fallback) const { return IsBool() ? Load<bool>() : fallback; }

std::int64_t Value::AsInt(std::int64_t fallback) const {
  return IsInt() ? Load<std::int64_t>() : fallback;
}

double Value::AsDouble(double fallback) const {
  if (kind_ == Kind::kDouble) return Load<double>();
  return IsInt() ? static_cast<double>(Load<std::int64_t>()) : fallback;
}

std::string_view Value::AsString(std::string_view fallback) const {
  if (kind_ != Kind::kString) return fallback;
  if (inline_size_ != kHeapString) return {payload_, inline_size_};
  auto* node = Load<StringNode*>();
  return {node->data(), node->size};
}

std::size_t Value::size() const {
  if (kind_ == Kind::kArray) return Load<ArrayNode*>()->size;
  if (kind_ == Kind::kObject) return Load<ObjectNode*>()->size;
  return 0;
}

const Value* Value::Find(std::string_view key) const {
  if (kind_ != Kind::kObject) return nullptr;
  const Member* member = Load<ObjectNode*>()->Find(key);
  return member == nullptr ? nullptr : &member->value;
}

const Value& Value::operator[](std::string_view key) const {
  const Value* found = Find(key);
  return found == nullptr ? NullValue() : *found;
}

const Value& Value::At(std::initializer_list<std::string_view> path) const {
  const Value* at = this;
  for (const std::string_view step : path) {
    at = at->Find(step);
    if (at == nullptr) return NullValue();
  }
  return *at;
}

std::span<const Value> Value::Items() const {
  if (kind_ != Kind::kArray) return {};
  auto* node = Load<ArrayNode*>();
  return {node->items(), node->size};
}

std::span<const Member> Value::Members() const {
  if (kind_ != Kind::kObject) return {};
  auto* node = Load<ObjectNode*>();
  return {node->members(), node->size};
}

Value::ArrayNode* Value::OwnedArray(std::size_t room) {
  if (IsNull()) {
    kind_ = Kind::kArray;
    Store(ArrayNode::Make(room));
    return Load<ArrayNode*>();
  }
  DRA_CHECK(IsArray());
  auto* node = Load<ArrayNode*>();
  if (node->references.load(std::memory_order_acquire) != 1) {
    auto* copy = ArrayNode::Make(node->size + room);
    std::uninitialized_copy_n(node->items(), node->size, copy->items());
    copy->size = node->size;
    Release();
    Store(copy);
    return copy;
  }
  if (node->size + room > node->capacity) {
    const std::uint32_t capacity = GrownCapacity(node->capacity, node->size + room);
    node =
        static_cast<ArrayNode*>(std::realloc(static_cast<void*>(node), ArrayNode::Bytes(capacity)));
    if (node == nullptr) throw std::bad_alloc();
    node->capacity = capacity;
    Store(node);
  }
  return node;
}

Value::ObjectNode* Value::OwnedObject(std::size_t room) {
  if (IsNull()) {
    kind_ = Kind::kObject;
    Store(ObjectNode::Make(room));
    return Load<ObjectNode*>();
  }
  DRA_CHECK(IsObject());
  auto* node = Load<ObjectNode*>();
  if (node->references.load(std::memory_order_acquire) != 1) {
    auto* copy = ObjectNode::Make(node->size + room);
    std::uninitialized_copy_n(node->members(), node->size, copy->members());
    copy->size = node->size;
    copy->RebuildIndex();
    Release();
    Store(copy);
    return copy;
  }
  if (node->size + room > node->capacity) {
    const std::uint32_t capacity = GrownCapacity(node->capacity, node->size + room);
    node = static_cast<ObjectNode*>(
        std::realloc(static_cast<void*>(node), ObjectNode::Bytes(capacity)));
    if (node == nullptr) throw std::bad_alloc();
    node->capacity = capacity;
    Store(node);
  }
  return node;
}

Value& Value::Set(std::string_view key, Value value) {
  return SetByKey(Value(key), std::move(value));
}

Value& Value::SetByKey(Value key, Value value) {
  DRA_CHECK(key.IsString());
  if (kind_ == Kind::kObject) {
    if (Load<ObjectNode*>()->Find(key.AsString()) != nullptr) {
      Value& place = OwnedObject(0)->Find(key.AsString())->value;
      place = std::move(value);
      return place;
    }
  }
  auto* node = OwnedObject(1);
  Member* member = new (node->members() + node->size++) Member{std::move(key), std::move(value)};
  node->NoteAppended();
  return member->value;
}

Value& Value::Edit(std::string_view key) {
  if (kind_ == Kind::kObject && Load<ObjectNode*>()->Find(key) != nullptr) {
    return OwnedObject(0)->Find(key)->value;
  }
  return Set(key, Value());
}

bool Value::Erase(std::string_view key) {
  if (kind_ != Kind::kObject || Load<ObjectNode*>()->Find(key) == nullptr) return false;
  auto* node = OwnedObject(0);
  Member* member = node->Find(key);
  std::move(member + 1, node->members() + node->size, member);
  std::destroy_at(node->members() + --node->size);
  if (node->index != nullptr) node->RebuildIndex();
  return true;
}

void Value::Append(Value item) {
  auto* node = OwnedArray(1);
  new (node->items() + node->size++) Value(std::move(item));
}

Value& Value::EditItem(std::size_t index) {
  DRA_CHECK(IsArray() && index < size());
  return OwnedArray(0)->items()[index];
}

void Value::EraseItem(std::size_t index) {
  DRA_CHECK(IsArray() && index < size());
  auto* node = OwnedArray(0);
  Value* at = node->items() + index;
  std::move(at + 1, node->items() + node->size, at);
  std::destroy_at(node->items() + --node->size);
}

void Value::InsertItem(std::size_t index, Value item) {
  DRA_CHECK(index <= size());
  Append(std::move(item));
  auto* node = Load<ArrayNode*>();
  std::rotate(node->items() + index, node->items() + node->size - 1, node->items() + node->size);
}

void Value::Reserve(std::size_t room) {
  if (kind_ == Kind::kArray) OwnedArray(room);
  if (kind_ == Kind::kObject) OwnedObject(room);
}

bool Value::SharesWith(const Value& other) const {
  if (kind_ != other.kind_) return false;
  if (OnHeap() && other.OnHeap() && Load<void*>() == other.Load<void*>()) return true;
  return kind_ < Kind::kArray && *this == other;
}

bool Value::IsShared() const {
  return OnHeap() && Load<StringNode*>()->references.load(std::memory_order_acquire) > 1;
}

namespace {

bool EqualArrays(const Value& a, const Value& b) {
  return std::ranges::equal(a.Items(), b.Items());
}

bool EqualObjects(const Value& a, const Value& b) {
  if (a.size() != b.size()) return false;
  const auto members_b = b.Members();
  std::size_t number = 0;
  for (const Member& member : a.Members()) {
    // Mostly both stand in the same order, which needs no look-up.
    const Member& same_place = members_b[number++];
    const Value* other =
        same_place.key() == member.key() ? &same_place.value : b.Find(member.key());
    if (other == nullptr || !(member.value == *other)) return false;
  }
  return true;
}

}  // namespace

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return a.IsNumber() && b.IsNumber() && a.AsDouble() == b.AsDouble();
  switch (a.kind_) {
    case Kind::kNull:
      return true;
    case Kind::kBool:
      return a.AsBool() == b.AsBool();
    case Kind::kInt:
      return a.AsInt() == b.AsInt();
    case Kind::kDouble:
      return a.AsDouble() == b.AsDouble();
    case Kind::kString:
      return a.AsString() == b.AsString();
    case Kind::kArray:
      return a.Load<void*>() == b.Load<void*>() || EqualArrays(a, b);
    case Kind::kObject:
      return a.Load<void*>() == b.Load<void*>() || EqualObjects(a, b);
  }
  return false;
}

std::size_t Value::HeapBytes() const {
  if (!OnHeap()) return 0;
  std::size_t bytes = 0;
  if (kind_ == Kind::kString) return sizeof(StringNode) + Load<StringNode*>()->size;
  if (kind_ == Kind::kArray) {
    bytes = ArrayNode::Bytes(Load<ArrayNode*>()->capacity);
    for (const Value& item : Items()) bytes += item.HeapBytes();
    return bytes;
  }
  const auto* node = Load<ObjectNode*>();
  bytes = ObjectNode::Bytes(node->capacity);
  if (node->index != nullptr) bytes += (node->index_mask + 1) * sizeof(std::uint32_t);
  for (const Member& member : Members()) {
    bytes += member.key_value.HeapBytes() + member.value.HeapBytes();
  }
  return bytes;
}

}  // namespace drachma::json
