#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cel/check/type.h"

namespace drachma::cel {

// The type variables of one check and what they stand for. Follows cel-go's unification step by
// step, since which of several types wins shows in results and messages.
class Unifier {
 public:
  explicit Unifier(Arena& arena) : arena_(arena) {}

  [[nodiscard]] const Type* NewVariable();
  // `type` with the parameters `names` replaced by the variables from `first_variable` on.
  [[nodiscard]] const Type* Instantiate(const Type* type, std::span<const std::string_view> names,
                                        const std::vector<const Type*>& variables);

  // Whether `from` can be given where `to` is wanted; binds variables when it can, and leaves them
  // alone when it cannot.
  bool Assign(const Type* from, const Type* to);
  bool AssignAll(std::span<const Type* const> from, std::span<const Type* const> to);

  enum class Unbound : std::uint8_t { kKeep, kToDyn };
  // `type` with its bound variables replaced.
  [[nodiscard]] const Type* Substitute(const Type* type, Unbound unbound);

  // Whether the limits below were reached: what has been inferred is no longer right then.
  [[nodiscard]] bool too_complex() const { return too_complex_; }

  // The more general of two types that unify.
  [[nodiscard]] static const Type* MostGeneral(const Type* a, const Type* b);

 private:
  struct Match {
    bool valid = false;
    bool bound = false;  // the variable already stood for something
  };

  // Types are trees by structure though they share their parts, so a short expression can infer
  // one of 2^n nodes ({a: a} of {b: b} of …). No type has more nodes than kNodesMax, and a whole
  // check compares no more than kStepsMax of them.
  static constexpr int kNodesMax = 2'000;
  static constexpr int kStepsMax = 1'000'000;

  const Type* SubstituteIn(const Type* type, Unbound unbound);
  bool CountStep() {
    if (++steps_ > kStepsMax) too_complex_ = true;
    return !too_complex_;
  }

  bool Assignable(const Type* a, const Type* b);
  bool AssignableAll(std::span<const Type* const> a, std::span<const Type* const> b);
  Match MatchVariable(const Type* type, const Type* variable);
  [[nodiscard]] bool NotReferencedIn(const Type* type, const Type* within);
  [[nodiscard]] const Type* Find(const Type* type) const;
  void Bind(const Type* variable, const Type* type);
  void Rollback(std::size_t mark);

  Arena& arena_;
  std::vector<const Type*> bindings_;  // by variable
  std::vector<std::pair<std::int32_t, const Type*>> trail_;
  int nodes_ = 0;  // of the type that is substituted in
  int steps_ = 0;
  bool too_complex_ = false;
};

}  // namespace drachma::cel
