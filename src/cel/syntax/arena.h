#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace drachma::cel {

// Bump allocation for trees and values that die together. Nothing is destroyed: only trivially
// destructible types may live here, except through Own(), which remembers the destructor.
class Arena {
 public:
  Arena() = default;
  // Starts in memory of the caller's, so that small work allocates nothing.
  Arena(void* buffer, std::size_t size)
      : at_(static_cast<std::byte*>(buffer)), end_(at_ + size), first_(at_), first_end_(end_) {}
  ~Arena() { RunDestructors(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* Allocate(std::size_t size, std::size_t align = alignof(std::max_align_t)) {
    const auto address = reinterpret_cast<std::uintptr_t>(at_);
    const std::size_t padding = (align - address % align) % align;
    if (static_cast<std::size_t>(end_ - at_) < size + padding) return AllocateSlow(size, align);
    at_ += padding;
    void* result = at_;
    at_ += size;
    return result;
  }

  template <typename T, typename... Args>
  T* New(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "use Own for types with a destructor");
    return new (Allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
  }

  // A T whose destructor runs when the arena dies.
  template <typename T, typename... Args>
  T* Own(Args&&... args) {
    T* object = new (Allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
    destructors_.push_back({object, [](void* p) { static_cast<T*>(p)->~T(); }});
    return object;
  }

  template <typename T>
  std::span<T> NewSpan(std::size_t count) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (count == 0) return {};
    T* items = static_cast<T*>(Allocate(sizeof(T) * count, alignof(T)));
    for (std::size_t i = 0; i < count; ++i) new (items + i) T{};
    return {items, count};
  }

  template <typename T>
  std::span<T> Copy(std::span<const T> items) {
    if (items.empty()) return {};
    T* copy = static_cast<T*>(Allocate(sizeof(T) * items.size(), alignof(T)));
    std::uninitialized_copy(items.begin(), items.end(), copy);
    return {copy, items.size()};
  }
  template <typename T>
  std::span<T> Copy(const std::vector<T>& items) {
    return Copy(std::span<const T>(items));
  }

  std::string_view CopyString(std::string_view text) {
    if (text.empty()) return {};
    char* copy = static_cast<char*>(Allocate(text.size(), 1));
    std::memcpy(copy, text.data(), text.size());
    return {copy, text.size()};
  }

  // Forgets everything, keeping the first memory.
  void Reset() {
    RunDestructors();
    blocks_.clear();
    at_ = first_;
    end_ = first_end_;
  }

 private:
  struct Destructor {
    void* object;
    void (*run)(void*);
  };
  static constexpr std::size_t kBlockBytes = 4096;
  static constexpr std::size_t kBlockBytesMax = 1 << 20;

  void RunDestructors() {
    for (std::size_t i = destructors_.size(); i > 0; --i) {
      destructors_[i - 1].run(destructors_[i - 1].object);
    }
    destructors_.clear();
  }

  void* AllocateSlow(std::size_t size, std::size_t align) {
    std::size_t block = kBlockBytes << (blocks_.size() < 8 ? blocks_.size() : 8);
    if (block > kBlockBytesMax) block = kBlockBytesMax;
    if (block < size + align) block = size + align;
    blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(block));
    at_ = blocks_.back().get();
    end_ = at_ + block;
    return Allocate(size, align);
  }

  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
  std::byte* first_ = nullptr;
  std::byte* first_end_ = nullptr;
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::vector<Destructor> destructors_;
};

}  // namespace drachma::cel
