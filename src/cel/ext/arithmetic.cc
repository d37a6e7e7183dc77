#include "cel/ext/arithmetic.h"

#include <algorithm>
#include <limits>
#include <string>

#include "cel/eval/format.h"

namespace drachma::cel {
namespace {

constexpr std::int64_t kIntMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

Value IntOverflow() { return Value::Error("integer overflow"); }
Value UintOverflow() { return Value::Error("unsigned integer overflow"); }

bool Both(std::span<const Value> args, ValueKind kind) {
  return args[0].kind() == kind && args[1].kind() == kind;
}

Value Mismatch(std::span<const Value> args) {
  return args[1].IsError() ? args[1] : NoSuchOverload();
}

// timestamp + nanos
Value AddToTimestamp(const Value& timestamp, std::int64_t nanos) {
  std::int64_t seconds = 0;
  if (__builtin_add_overflow(timestamp.seconds(), nanos / kNanosPerSecond, &seconds)) {
    return IntOverflow();
  }
  std::int64_t rest = timestamp.nanos() + nanos % kNanosPerSecond;
  if (rest >= kNanosPerSecond) {
    rest -= kNanosPerSecond;
    ++seconds;
  } else if (rest < 0) {
    rest += kNanosPerSecond;
    --seconds;
  }
  if (seconds < kSecondsMin || seconds > kSecondsMax) return Value::Error("timestamp overflow");
  return Value::Timestamp(seconds, static_cast<std::uint32_t>(rest), timestamp.offset_minutes());
}

Value TimestampDifference(const Value& a, const Value& b) {
  std::int64_t nanos = 0;
  if (__builtin_mul_overflow(a.seconds() - b.seconds(), kNanosPerSecond, &nanos)) {
    return IntOverflow();
  }
  const std::int64_t rest =
      static_cast<std::int64_t>(a.nanos()) - static_cast<std::int64_t>(b.nanos());
  if (__builtin_add_overflow(nanos, rest, &nanos)) return IntOverflow();
  return Value::Duration(nanos);
}

Value Join(Arena& arena, const Value& a, const Value& b) {
  std::string_view left = a.AsText();
  const std::string_view right = b.AsText();
  if (left.size() + right.size() > kTextBytesMax) return Value::Error(kCostExceeded);
  char* text = static_cast<char*>(arena.Allocate(left.size() + right.size() + 1, 1));
  std::ranges::copy(left, text);
  std::ranges::copy(right, text + left.size());
  const std::string_view joined(text, left.size() + right.size());
  return a.IsString() ? Value::String(joined) : Value::Bytes(joined);
}

}  // namespace

Value Add(Arena& arena, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (a.kind() == ValueKind::kTimestamp && b.kind() == ValueKind::kDuration) {
    return AddToTimestamp(a, b.duration_nanos());
  }
  if (a.kind() == ValueKind::kDuration && b.kind() == ValueKind::kTimestamp) {
    return AddToTimestamp(b, a.duration_nanos());
  }
  if (a.kind() != b.kind()) return Mismatch(args);
  std::int64_t sum = 0;
  switch (a.kind()) {
    case ValueKind::kInt:
      if (__builtin_add_overflow(a.AsInt(), b.AsInt(), &sum)) return IntOverflow();
      return Value::Int(sum);
    case ValueKind::kUint: {
      std::uint64_t unsigned_sum = 0;
      if (__builtin_add_overflow(a.AsUint(), b.AsUint(), &unsigned_sum)) return UintOverflow();
      return Value::Uint(unsigned_sum);
    }
    case ValueKind::kDouble:
      return Value::Double(a.AsDouble() + b.AsDouble());
    case ValueKind::kDuration:
      if (__builtin_add_overflow(a.duration_nanos(), b.duration_nanos(), &sum))
        return IntOverflow();
      return Value::Duration(sum);
    case ValueKind::kString:
    case ValueKind::kBytes:
      return Join(arena, a, b);
    case ValueKind::kList:
      return Concat(arena, a.AsList(), b.AsList());
    default:
      return NoSuchOverload();
  }
}

Value Subtract(Arena&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  std::int64_t difference = 0;
  if (a.kind() == ValueKind::kTimestamp) {
    if (b.kind() == ValueKind::kTimestamp) return TimestampDifference(a, b);
    if (b.kind() != ValueKind::kDuration) return Mismatch(args);
    if (b.duration_nanos() == kIntMin) return IntOverflow();
    return AddToTimestamp(a, -b.duration_nanos());
  }
  if (a.kind() != b.kind()) return Mismatch(args);
  switch (a.kind()) {
    case ValueKind::kInt:
      if (__builtin_sub_overflow(a.AsInt(), b.AsInt(), &difference)) return IntOverflow();
      return Value::Int(difference);
    case ValueKind::kUint:
      if (b.AsUint() > a.AsUint()) return UintOverflow();
      return Value::Uint(a.AsUint() - b.AsUint());
    case ValueKind::kDouble:
      return Value::Double(a.AsDouble() - b.AsDouble());
    case ValueKind::kDuration:
      if (__builtin_sub_overflow(a.duration_nanos(), b.duration_nanos(), &difference)) {
        return IntOverflow();
      }
      return Value::Duration(difference);
    default:
      return NoSuchOverload();
  }
}

Value Multiply(Arena&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (Both(args, ValueKind::kInt)) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(a.AsInt(), b.AsInt(), &product)) return IntOverflow();
    return Value::Int(product);
  }
  if (Both(args, ValueKind::kUint)) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(a.AsUint(), b.AsUint(), &product)) return UintOverflow();
    return Value::Uint(product);
  }
  if (Both(args, ValueKind::kDouble)) return Value::Double(a.AsDouble() * b.AsDouble());
  return Mismatch(args);
}

Value Divide(Arena&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (Both(args, ValueKind::kInt)) {
    if (b.AsInt() == 0) return Value::Error("division by zero");
    if (a.AsInt() == kIntMin && b.AsInt() == -1) return IntOverflow();
    return Value::Int(a.AsInt() / b.AsInt());
  }
  if (Both(args, ValueKind::kUint)) {
    if (b.AsUint() == 0) return Value::Error("division by zero");
    return Value::Uint(a.AsUint() / b.AsUint());
  }
  if (Both(args, ValueKind::kDouble)) return Value::Double(a.AsDouble() / b.AsDouble());
  return Mismatch(args);
}

Value Modulo(Arena&, std::span<const Value> args) {
  const Value& a = args[0];
  const Value& b = args[1];
  if (Both(args, ValueKind::kInt)) {
    if (b.AsInt() == 0) return Value::Error("modulus by zero");
    if (a.AsInt() == kIntMin && b.AsInt() == -1) return IntOverflow();
    return Value::Int(a.AsInt() % b.AsInt());
  }
  if (Both(args, ValueKind::kUint)) {
    if (b.AsUint() == 0) return Value::Error("modulus by zero");
    return Value::Uint(a.AsUint() % b.AsUint());
  }
  return Mismatch(args);
}

Value Negate(Arena&, std::span<const Value> args) {
  const Value& a = args[0];
  switch (a.kind()) {
    case ValueKind::kInt:
      return a.AsInt() == kIntMin ? IntOverflow() : Value::Int(-a.AsInt());
    case ValueKind::kDouble:
      return Value::Double(-a.AsDouble());
    case ValueKind::kDuration:
      return a.duration_nanos() == kIntMin ? IntOverflow() : Value::Duration(-a.duration_nanos());
    default:
      return NoSuchOverload();
  }
}

}  // namespace drachma::cel
