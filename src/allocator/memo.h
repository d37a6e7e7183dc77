#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/options.h"
#include "allocator/table.h"
#include "selector/program.h"

// What selectors and attributes said about devices, remembered per slice revision. Private to this
// folder.
namespace drachma::allocator {

// A flat array of atomics that grows only while nobody else looks.
template <typename T>
class AtomicArray {
 public:
  void Resize(std::size_t size) {
    if (size <= size_) return;
    std::size_t grown = size_ + size_ / 2;
    if (grown < size) grown = size;
    auto items = std::make_unique<std::atomic<T>[]>(grown);
    for (std::size_t i = 0; i < size_; ++i) {
      items[i].store(items_[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    items_ = std::move(items);
    size_ = grown;
  }
  [[nodiscard]] std::atomic<T>& operator[](std::size_t index) const { return items_[index]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  void Clear(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count && i < size_; ++i) {
      items_[i].store(T{}, std::memory_order_relaxed);
    }
  }

 private:
  std::unique_ptr<std::atomic<T>[]> items_;
  std::size_t size_ = 0;
};

// A selector's expression with its three bitmaps over the table's words. A bit of `known` is set
// after those of `match` and `failed`.
struct Expression {
  std::string text;
  std::optional<selector::Program> program;
  std::string compile_error;
  AtomicArray<std::uint64_t> known;
  AtomicArray<std::uint64_t> match;
  AtomicArray<std::uint64_t> failed;
};

// The value of an attribute as constraints compare it. Under DRAListTypeAttributes every value is
// a set of elements; without it a scalar, and lists are values of an unknown kind.
using ValueId = std::uint32_t;
inline constexpr ValueId kValueUnread = 0;   // not looked up yet
inline constexpr ValueId kValueMissing = 1;  // the device has no such attribute
inline constexpr ValueId kValueUnknown = 2;  // of a kind that cannot be compared
inline constexpr ValueId kValueFailed = 3;   // a derived attribute that fails on this device
inline constexpr ValueId kValueFirst = 4;

struct Value {
  std::vector<std::uint32_t> elements;  // sorted; one for a scalar
  std::string text;                     // for reasons
};

// An attribute over all records: published by the device, or derived by an expression.
struct Column {
  std::string attribute;                     // full name, of a published one
  std::string expression;                    // of a derived one
  std::optional<selector::Program> program;  // of a derived one
  std::string compile_error;
  AtomicArray<ValueId> values;
};

using ExpressionIndex = std::uint32_t;
using ColumnIndex = std::uint32_t;

// Which devices of a word a conjunction of expressions may match: known matches, and those where an
// expression fails, or was not evaluated, before another one says no. Upstream evaluates in order,
// so that such devices must be looked at.
class Conjunction {
 public:
  explicit Conjunction(std::uint64_t bits) : alive_(bits) {}
  void Add(const Expression& expression, std::size_t word) {
    const std::uint64_t known = expression.known[word].load(std::memory_order_acquire);
    const std::uint64_t match = expression.match[word].load(std::memory_order_relaxed);
    open_ |= alive_ & (expression.failed[word].load(std::memory_order_relaxed) | ~known);
    alive_ &= match;
  }
  [[nodiscard]] std::uint64_t bits() const { return alive_ | open_; }

 private:
  std::uint64_t alive_;
  std::uint64_t open_ = 0;
};

// At this number all that is remembered about selectors is forgotten and built again on demand.
inline constexpr std::size_t kExpressionsMax = 4096;

// Threads as Inventory's: registering and resizing are changes; Fill, ValueOf and Set operations
// may run in any number of threads.
class Memo {
 public:
  explicit Memo(const Features& features) : features_(features) {}

  // --- Changes.
  ExpressionIndex Register(std::string_view expression);
  ColumnIndex RegisterAttribute(std::string_view name);
  ColumnIndex RegisterDerived(std::string_view expression);
  void Resize(std::size_t words, std::size_t records);
  void Forget(const Slice& slice);
  // Rises when indices given before have lost their meaning.
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  // Drops everything when there is too much of it.
  void Trim();

  // --- Questions.
  [[nodiscard]] const Expression& expression(ExpressionIndex index) const {
    return *expressions_[index];
  }
  [[nodiscard]] const Column& column(ColumnIndex index) const { return *columns_[index]; }
  // Makes the bits of the expressions known for all devices of the slice.
  void Fill(const std::vector<ExpressionIndex>& expressions, const Slice& slice) const;
  // The run-time error of an expression on a device whose bit says that it failed.
  [[nodiscard]] std::string ErrorOf(ExpressionIndex expression, const Slice& slice,
                                    std::size_t device) const;
  [[nodiscard]] ValueId ValueOf(ColumnIndex column, const Slice& slice, std::size_t device) const;
  [[nodiscard]] std::string DerivedErrorOf(ColumnIndex column, const Slice& slice,
                                           std::size_t device) const;
  [[nodiscard]] Value ValueAt(ValueId id) const;
  // The value that has the common elements of both; kValueMissing when there are none.
  [[nodiscard]] ValueId Intersect(ValueId a, ValueId b) const;

 private:
  [[nodiscard]] ValueId Intern(const api::DeviceAttribute& attribute) const;
  [[nodiscard]] ValueId InternElements(std::vector<std::uint32_t> elements) const;
  [[nodiscard]] ValueId Read(const Column& column, const Slice& slice, std::size_t device) const;
  [[nodiscard]] selector::CompileOptions OptionsFor(selector::Purpose purpose) const;

  const Features features_;
  std::uint64_t epoch_ = 1;
  std::size_t words_ = 0;
  std::size_t records_ = 0;
  std::vector<std::unique_ptr<Expression>> expressions_;
  std::map<std::string, ExpressionIndex, std::less<>> expression_index_;
  std::vector<std::unique_ptr<Column>> columns_;
  std::map<std::string, ColumnIndex, std::less<>> attribute_index_;
  std::map<std::string, ColumnIndex, std::less<>> derived_index_;

  mutable std::mutex mutex_;  // guards the interned values
  mutable std::map<std::string, std::uint32_t> element_index_;
  mutable std::vector<std::string> element_texts_;
  mutable std::map<std::vector<std::uint32_t>, ValueId> value_index_;
  mutable std::vector<std::vector<std::uint32_t>> values_;
};

}  // namespace drachma::allocator
