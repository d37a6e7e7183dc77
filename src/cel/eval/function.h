#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cel/check/env.h"
#include "cel/eval/frame.h"
#include "cel/eval/value.h"

namespace drachma::cel {

// Computes a function. Errors are results.
using FunctionBody = Value (*)(Arena& arena, std::span<const Value> args);

// What the first argument of an operator must be able to do (cel-go's traits).
enum class Trait : std::uint8_t {
  kNone,
  kAdd,
  kCompare,
  kDivide,
  kIndex,
  kMatch,
  kModulo,
  kMultiply,
  kNegate,
  kSize,
  kList,
  kSubtract,
};
[[nodiscard]] bool HasTrait(const Value& value, Trait trait);

enum FunctionFlags : std::uint8_t {
  kPlain = 0,
  kNoTypeGuard = 1,  // the body checks its arguments itself
  kNonStrict = 2,    // errors are arguments like others
  // Arguments are taken one by one and the first error ends it (cel-go's FunctionBinding); what
  // functions of three and more arguments always do.
  kOneByOne = 4,
};

// The cost of a call: a fixed amount, or computed from arguments and result.
using CostBody = std::uint64_t (*)(std::span<const Value> args, const Value& result);
struct CallCost {
  std::uint64_t fixed = 1;
  CostBody body = nullptr;
};

// The bodies of the functions that a CheckEnv declares. Built with it, then shared.
class FunctionTable {
 public:
  // `env` declares the functions; bodies that are not here are looked up in `parent`.
  explicit FunctionTable(const CheckEnv& env, const FunctionTable* parent = nullptr)
      : env_(env), parent_(parent) {}

  struct Body {
    FunctionBody body = nullptr;
    std::uint8_t flags = kPlain;
    Trait trait = Trait::kNone;
  };

  // One body for all overloads of `function`.
  void AddSingleton(std::string_view function, FunctionBody body, Trait trait);
  void AddOverload(std::string_view overload, FunctionBody body, std::uint8_t flags = kPlain);

  [[nodiscard]] const Body* FindSingleton(std::string_view function) const;
  [[nodiscard]] const Body* FindOverload(std::string_view overload) const;
  [[nodiscard]] const CheckEnv& env() const { return env_; }

 private:
  const CheckEnv& env_;
  const FunctionTable* parent_;
  NameMap<Body> singletons_;
  NameMap<Body> overloads_;
};

// "no such overload: f(int, string)"; the first error among the arguments when there is one.
[[nodiscard]] Value NoOverloadFor(Arena& arena, std::string_view function,
                                  std::span<const Value> args);

// Whether a value can be given to a declared parameter: what cel-go's type guards look at (kinds,
// names, and the first element of lists and maps).
[[nodiscard]] bool MatchesType(const Type* type, const Value& value);

}  // namespace drachma::cel
