#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "cel/ext/library.h"

// cel-go's ext.Math.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

Value Identity(Arena&, Args args) { return args[0]; }

using DoubleFunction = double (*)(double);
template <DoubleFunction kFunction>
Value OnDouble(Arena&, Args args) {
  return Value::Double(kFunction(args[0].AsDouble()));
}
double Ceil(double x) { return std::ceil(x); }
double Floor(double x) { return std::floor(x); }
double Round(double x) { return std::round(x); }
double Trunc(double x) { return std::trunc(x); }
double Abs(double x) { return std::fabs(x); }

Value IsInf(Arena&, Args args) { return Value::Bool(std::isinf(args[0].AsDouble())); }
Value IsNan(Arena&, Args args) { return Value::Bool(std::isnan(args[0].AsDouble())); }
Value IsFinite(Arena&, Args args) { return Value::Bool(std::isfinite(args[0].AsDouble())); }

Value AbsInt(Arena&, Args args) {
  const std::int64_t value = args[0].AsInt();
  if (value == std::numeric_limits<std::int64_t>::min()) return Value::Error("integer overflow");
  return Value::Int(value < 0 ? -value : value);
}

Value Sign(Arena&, Args args) {
  const Value& value = args[0];
  switch (value.kind()) {
    case ValueKind::kDouble:
      if (std::isnan(value.AsDouble())) return value;
      return Value::Double(value.AsDouble() > 0 ? 1 : value.AsDouble() < 0 ? -1 : 0);
    case ValueKind::kInt:
      return Value::Int(value.AsInt() > 0 ? 1 : value.AsInt() < 0 ? -1 : 0);
    default:
      return Value::Uint(value.AsUint() == 0 ? 0 : 1);
  }
}

Value Sqrt(Arena&, Args args) {
  const Value& value = args[0];
  if (value.kind() == ValueKind::kDouble) return Value::Double(std::sqrt(value.AsDouble()));
  if (value.IsInt()) return Value::Double(std::sqrt(static_cast<double>(value.AsInt())));
  return Value::Double(std::sqrt(static_cast<double>(value.AsUint())));
}

// Both kinds of integers hold the same bits.
Value SameKind(const Value& like, std::uint64_t bits) {
  return like.IsInt() ? Value::Int(static_cast<std::int64_t>(bits)) : Value::Uint(bits);
}
Value BitAnd(Arena&, Args args) { return SameKind(args[0], args[0].AsUint() & args[1].AsUint()); }
Value BitOr(Arena&, Args args) { return SameKind(args[0], args[0].AsUint() | args[1].AsUint()); }
Value BitXor(Arena&, Args args) { return SameKind(args[0], args[0].AsUint() ^ args[1].AsUint()); }
Value BitNot(Arena&, Args args) { return SameKind(args[0], ~args[0].AsUint()); }

constexpr std::int64_t kBits = 64;

Value ShiftLeft(Arena& arena, Args args) {
  const std::int64_t bits = args[1].AsInt();
  if (bits < 0) {
    return MakeError(arena, "math.bitShiftLeft() negative offset: " + std::to_string(bits));
  }
  return SameKind(args[0], bits >= kBits ? 0 : args[0].AsUint() << bits);
}
Value ShiftRight(Arena& arena, Args args) {
  const std::int64_t bits = args[1].AsInt();
  if (bits < 0) {
    return MakeError(arena, "math.bitShiftRight() negative offset: " + std::to_string(bits));
  }
  return SameKind(args[0], bits >= kBits ? 0 : args[0].AsUint() >> bits);
}

bool IsNumber(const Value& value) {
  return value.IsInt() || value.kind() == ValueKind::kUint || value.kind() == ValueKind::kDouble;
}

// The one of two that comes first (-1) or last (1); errors name the function.
template <int kWins>
Value Pair(Arena& arena, const Value& a, const Value& b) {
  const std::string name = kWins < 0 ? "math.@min" : "math.@max";
  const Value order = CompareValues(a, b);
  if (order.IsError()) {
    const std::string message(order.AsText());
    return message.contains(name) ? order : MakeError(arena, message + ": " + name);
  }
  return order.AsInt() == -kWins ? b : a;
}

template <int kWins>
Value ExtremeOfPair(Arena& arena, Args args) {
  return Pair<kWins>(arena, args[0], args[1]);
}

template <int kWins>
Value ExtremeOfList(Arena& arena, Args args) {
  const std::string name = kWins < 0 ? "math.@min" : "math.@max";
  const std::span<const Value> elements = args[0].AsList().elements();
  if (elements.empty()) return MakeError(arena, name + "(list) argument must not be empty");
  Value best = elements[0];
  for (const Value& element : elements.subspan(1)) best = Pair<kWins>(arena, best, element);
  return IsNumber(best) ? best : MakeError(arena, "no such overload: " + name);
}

constexpr auto kFunctions = std::to_array<LibraryFunction>({
    {"math.@min", "math_@min_double", "(double) -> double", Identity},
    {"math.@min", "math_@min_int", "(int) -> int", Identity},
    {"math.@min", "math_@min_uint", "(uint) -> uint", Identity},
    {"math.@min", "math_@min_double_double", "(double, double) -> double", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_int_int", "(int, int) -> int", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_uint_uint", "(uint, uint) -> uint", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_int_uint", "(int, uint) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_int_double", "(int, double) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_double_int", "(double, int) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_double_uint", "(double, uint) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_uint_int", "(uint, int) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_uint_double", "(uint, double) -> dyn", ExtremeOfPair<-1>},
    {"math.@min", "math_@min_list_double", "(list(double)) -> double", ExtremeOfList<-1>},
    {"math.@min", "math_@min_list_int", "(list(int)) -> int", ExtremeOfList<-1>},
    {"math.@min", "math_@min_list_uint", "(list(uint)) -> uint", ExtremeOfList<-1>},
    {"math.@max", "math_@max_double", "(double) -> double", Identity},
    {"math.@max", "math_@max_int", "(int) -> int", Identity},
    {"math.@max", "math_@max_uint", "(uint) -> uint", Identity},
    {"math.@max", "math_@max_double_double", "(double, double) -> double", ExtremeOfPair<1>},
    {"math.@max", "math_@max_int_int", "(int, int) -> int", ExtremeOfPair<1>},
    {"math.@max", "math_@max_uint_uint", "(uint, uint) -> uint", ExtremeOfPair<1>},
    {"math.@max", "math_@max_int_uint", "(int, uint) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_int_double", "(int, double) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_double_int", "(double, int) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_double_uint", "(double, uint) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_uint_int", "(uint, int) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_uint_double", "(uint, double) -> dyn", ExtremeOfPair<1>},
    {"math.@max", "math_@max_list_double", "(list(double)) -> double", ExtremeOfList<1>},
    {"math.@max", "math_@max_list_int", "(list(int)) -> int", ExtremeOfList<1>},
    {"math.@max", "math_@max_list_uint", "(list(uint)) -> uint", ExtremeOfList<1>},
    {"math.ceil", "math_ceil_double", "(double) -> double", OnDouble<Ceil>},
    {"math.floor", "math_floor_double", "(double) -> double", OnDouble<Floor>},
    {"math.round", "math_round_double", "(double) -> double", OnDouble<Round>},
    {"math.trunc", "math_trunc_double", "(double) -> double", OnDouble<Trunc>},
    {"math.isInf", "math_isInf_double", "(double) -> bool", IsInf},
    {"math.isNaN", "math_isNaN_double", "(double) -> bool", IsNan},
    {"math.isFinite", "math_isFinite_double", "(double) -> bool", IsFinite},
    {"math.abs", "math_abs_double", "(double) -> double", OnDouble<Abs>},
    {"math.abs", "math_abs_int", "(int) -> int", AbsInt},
    {"math.abs", "math_abs_uint", "(uint) -> uint", Identity},
    {"math.sign", "math_sign_double", "(double) -> double", Sign},
    {"math.sign", "math_sign_int", "(int) -> int", Sign},
    {"math.sign", "math_sign_uint", "(uint) -> uint", Sign},
    {"math.bitAnd", "math_bitAnd_int_int", "(int, int) -> int", BitAnd},
    {"math.bitAnd", "math_bitAnd_uint_uint", "(uint, uint) -> uint", BitAnd},
    {"math.bitOr", "math_bitOr_int_int", "(int, int) -> int", BitOr},
    {"math.bitOr", "math_bitOr_uint_uint", "(uint, uint) -> uint", BitOr},
    {"math.bitXor", "math_bitXor_int_int", "(int, int) -> int", BitXor},
    {"math.bitXor", "math_bitXor_uint_uint", "(uint, uint) -> uint", BitXor},
    {"math.bitNot", "math_bitNot_int_int", "(int) -> int", BitNot},
    {"math.bitNot", "math_bitNot_uint_uint", "(uint) -> uint", BitNot},
    {"math.bitShiftLeft", "math_bitShiftLeft_int_int", "(int, int) -> int", ShiftLeft},
    {"math.bitShiftLeft", "math_bitShiftLeft_uint_int", "(uint, int) -> uint", ShiftLeft},
    {"math.bitShiftRight", "math_bitShiftRight_int_int", "(int, int) -> int", ShiftRight},
    {"math.bitShiftRight", "math_bitShiftRight_uint_int", "(uint, int) -> uint", ShiftRight},
    {"math.sqrt", "math_sqrt_double", "(double) -> double", Sqrt},
    {"math.sqrt", "math_sqrt_int", "(int) -> double", Sqrt},
    {"math.sqrt", "math_sqrt_uint", "(uint) -> double", Sqrt},
});

}  // namespace

void AddMath(Environment& env) {
  env.Add(kFunctions);
  env.check.macros.Add(MathMacros());
}

}  // namespace drachma::cel
