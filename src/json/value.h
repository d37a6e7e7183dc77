#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drachma::json {

enum class Kind : std::uint8_t { kNull, kBool, kInt, kDouble, kString, kArray, kObject };

struct Member;

// A JSON value of 16 bytes with value semantics and shared structure: copying is cheap (a reference
// count), changing a shared value copies one level first (copy on write). So a patched object
// shares all that the patch left alone with the object it came from, and an informer, a store and a
// watcher hold the same tree.
//
// Numbers are int64 where the text is an integer that fits, else double, as Kubernetes' decoder
// reads them. Objects keep the order of insertion; lookup is by hash in large ones.
//
// Threads: as std::shared_ptr: different Values may be used from different threads even when they
// share structure; one Value needs outside synchronisation once someone changes it.
class Value {
 public:
  Value() = default;
  Value(std::nullptr_t) {}                                              // NOLINT: implicit
  Value(bool value) : kind_(Kind::kBool) { Store(value); }              // NOLINT
  Value(int value) : kind_(Kind::kInt) { Store<std::int64_t>(value); }  // NOLINT
  Value(std::int64_t value) : kind_(Kind::kInt) { Store(value); }       // NOLINT
  Value(double value) : kind_(Kind::kDouble) { Store(value); }          // NOLINT
  Value(std::string_view value);                                        // NOLINT
  Value(const char* value) : Value(std::string_view(value)) {}          // NOLINT
  Value(const std::string& value) : Value(std::string_view(value)) {}   // NOLINT
  ~Value() {
    if (OnHeap()) Release();
  }
  Value(const Value& other) noexcept { CopyFrom(other); }
  Value(Value&& other) noexcept { TakeFrom(other); }
  Value& operator=(const Value& other) noexcept;
  Value& operator=(Value&& other) noexcept;

  // Value::Object({{"kind", "Pod"}, …}) and Value::Array({1, 2}).
  [[nodiscard]] static Value Object(std::initializer_list<std::pair<std::string_view, Value>> = {});
  [[nodiscard]] static Value Array(std::initializer_list<Value> items = {});
  [[nodiscard]] static Value Array(std::vector<Value> items);

  // For readers: arrays and objects of exactly the given size, made of values that lie in a row and
  // are moved out of it. For objects keys and values alternate; of equal keys the last value wins
  // and `on_duplicate` is told the number of the later key (null: nobody wants to know).
  using DuplicateSink = void (*)(void* context, std::size_t key_number);
  [[nodiscard]] static Value TakeArray(std::span<Value> items);
  [[nodiscard]] static Value TakeObject(std::span<Value> keys_and_values,
                                        DuplicateSink on_duplicate = nullptr,
                                        void* context = nullptr);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool IsNull() const { return kind_ == Kind::kNull; }
  [[nodiscard]] bool IsBool() const { return kind_ == Kind::kBool; }
  [[nodiscard]] bool IsInt() const { return kind_ == Kind::kInt; }
  [[nodiscard]] bool IsNumber() const { return kind_ == Kind::kInt || kind_ == Kind::kDouble; }
  [[nodiscard]] bool IsString() const { return kind_ == Kind::kString; }
  [[nodiscard]] bool IsArray() const { return kind_ == Kind::kArray; }
  [[nodiscard]] bool IsObject() const { return kind_ == Kind::kObject; }

  // The lenient readers: the value, or the fallback when it is of another kind.
  [[nodiscard]] bool AsBool(bool fallback = false) const;
  [[nodiscard]] std::int64_t AsInt(std::int64_t fallback = 0) const;
  [[nodiscard]] double AsDouble(double fallback = 0) const;  // also of an int
  // Valid as long as this Value lives unchanged.
  [[nodiscard]] std::string_view AsString(std::string_view fallback = {}) const;

  // --- Objects and arrays. Readers accept every kind and find nothing in the wrong one.

  // Number of items or members; 0 for scalars.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] bool empty() const { return size() == 0; }
  // The member `key`, or null (the JSON null) when there is none. Chains: v["spec"]["nodeName"].
  [[nodiscard]] const Value& operator[](std::string_view key) const;
  // The member `key`, or a null pointer.
  [[nodiscard]] const Value* Find(std::string_view key) const;
  [[nodiscard]] bool Has(std::string_view key) const { return Find(key) != nullptr; }
  // The value at a path of object members; null when any step is missing.
  [[nodiscard]] const Value& At(std::initializer_list<std::string_view> path) const;
  // Items of an array (empty for other kinds); members of an object in order of insertion.
  [[nodiscard]] std::span<const Value> Items() const;
  [[nodiscard]] std::span<const Member> Members() const;

  // --- Changes. A null becomes an object or array by them; another kind is a bug of the caller.

  // Sets a member, replacing one of that name in its place. Returns the stored value.
  Value& Set(std::string_view key, Value value);
  // The same with a key that is a string Value already, whose memory is shared.
  Value& SetByKey(Value key, Value value);
  // The member for changing; made as null when missing. Chains: v.Edit("spec").Set("nodeName", n).
  Value& Edit(std::string_view key);
  // Removes a member; false when there was none.
  bool Erase(std::string_view key);
  void Append(Value item);
  // REQUIRES: an array and index < size().
  Value& EditItem(std::size_t index);
  void EraseItem(std::size_t index);
  void InsertItem(std::size_t index, Value item);  // REQUIRES: index <= size()
  // Makes room for so many more items or members of an array or object.
  void Reserve(std::size_t room);

  // Deep equality; the order of members does not count, 1 and 1.0 are different kinds but equal.
  friend bool operator==(const Value& a, const Value& b);
  // Whether both are the same tree in memory (or equal scalars): a fast "certainly equal".
  [[nodiscard]] bool SharesWith(const Value& other) const;
  // Whether other Values hold this tree as a whole. Scalars are never shared.
  [[nodiscard]] bool IsShared() const;
  // Bytes of heap that the tree takes; shared parts are counted each time.
  [[nodiscard]] std::size_t HeapBytes() const;

 private:
  struct StringNode;
  struct ArrayNode;
  struct ObjectNode;
  // Short strings live in the value itself. Heap strings have this in inline_size_.
  static constexpr std::size_t kInlineMax = 14;
  static constexpr std::uint8_t kHeapString = 0xFF;

  template <typename T>
  void Store(T payload) {
    std::memcpy(payload_, &payload, sizeof(payload));
  }
  template <typename T>
  [[nodiscard]] T Load() const {
    T payload;
    std::memcpy(&payload, payload_, sizeof(payload));
    return payload;
  }
  [[nodiscard]] bool OnHeap() const {
    return kind_ >= Kind::kArray || (kind_ == Kind::kString && inline_size_ == kHeapString);
  }
  void CopyFrom(const Value& other) noexcept {
    std::memcpy(static_cast<void*>(this), &other, sizeof(Value));
    if (OnHeap()) Retain();
  }
  void TakeFrom(Value& other) noexcept {
    std::memcpy(static_cast<void*>(this), &other, sizeof(Value));
    other.kind_ = Kind::kNull;
  }
  static bool SameKey(const Value& a, const Value& b);
  void Release() noexcept;
  void Retain() const noexcept;
  // This value's own node, made from null or copied from a shared one; with room for one more.
  ArrayNode* OwnedArray(std::size_t room);
  ObjectNode* OwnedObject(std::size_t room);

  // A union with members of 8 bytes would be padded to 16 by itself; bytes leave room for the two
  // small fields.
  alignas(8) char payload_[kInlineMax] = {};
  std::uint8_t inline_size_ = 0;
  Kind kind_ = Kind::kNull;
};
static_assert(sizeof(Value) == 16);

// A member of an object. The key is a string Value, short keys need no memory of their own.
struct Member {
  Value key_value;
  Value value;
  [[nodiscard]] std::string_view key() const { return key_value.AsString(); }
};

}  // namespace drachma::json
