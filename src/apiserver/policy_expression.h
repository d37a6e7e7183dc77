#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/cel_objects.h"
#include "cel/ext/authorizer.h"

namespace drachma::apiserver {

// The CEL of admission policies (apiserver's pkg/admission/plugin/cel): expressions over `object`,
// `oldObject`, `request`, `namespaceObject`, and, where there are some, `params`, `authorizer` and
// `variables`.

// What a policy's expressions may cost together, and its match conditions (apiserver's celconfig).
inline constexpr std::uint64_t kPolicyBudget = 10'000'000;
inline constexpr std::uint64_t kMatchConditionsBudget = 2'500'000;

// An expression that was compiled, or why it could not be.
struct PolicyExpression {
  std::string text;
  std::optional<CelProgram> program;
  std::string fault;  // upstream's words; empty when there is a program
};
struct PolicyVariable {
  std::string name;
  PolicyExpression expression;
};

// Compiles the expressions of one policy. Variables are declared in their order: an expression sees
// those that were compiled before it. One thread.
class PolicyCompiler {
 public:
  struct Options {
    bool params = false;     // `params` is there
    bool variables = false;  // `variables` is there
  };
  // kObject and kPatches: what a mutation makes, with the types for it (cel/ext/patch_types.h).
  enum class Returns : std::uint8_t {
    kBool,
    kString,
    kStringOrNull,
    kAnything,
    kObject,
    kPatches,
  };
  enum class MayAsk : std::uint8_t { kNo, kYes };

  explicit PolicyCompiler(Options options) : options_(options) {}

  [[nodiscard]] PolicyExpression Compile(std::string_view text, Returns returns, MayAsk may_ask);
  // Makes the type of an expression known as that of the variable `name`.
  [[nodiscard]] PolicyVariable CompileVariable(std::string_view name, std::string_view text);

 private:
  // What expressions know beyond objects and parameters.
  enum class Knows : std::uint8_t { kObjects, kAuthorizer, kPatchTypes };

  std::shared_ptr<cel::Environment> EnvironmentWith(Knows knows);
  void DeclareVariables(cel::CheckEnv& env) const;

  const Options options_;
  cel::Arena arena_;
  std::map<std::string, const cel::Type*, std::less<>> types_;     // of the variables
  std::array<std::shared_ptr<cel::Environment>, 3> environments_;  // by Knows
};

// What the expressions of one evaluation see. All values live in the arena that evaluates.
struct PolicyInputs {
  cel::Value object;
  cel::Value old_object;
  cel::Value params;
  cel::Value request;
  cel::Value namespace_object;
  std::optional<cel::Value> authorizer;  // nothing: not declared
  std::optional<cel::Value> request_resource;
};

// The results of a list of expressions.
struct PolicyResults {
  struct One {
    bool evaluated = false;  // false: there was no expression
    cel::Value value;
    std::string error;
  };
  std::vector<One> results;
  std::uint64_t budget = 0;  // what is left of it
  std::string error;         // why not all were evaluated: then `results` is empty
};

// Evaluates expressions one after the other; null ones leave a gap. Variables are worked out when
// they are first read, and count. Nothing of it waits.
[[nodiscard]] PolicyResults EvaluatePolicy(std::span<const PolicyExpression* const> expressions,
                                           std::span<const PolicyVariable> variables,
                                           const PolicyInputs& inputs, std::uint64_t budget,
                                           cel::Arena& arena);

// Whether all `conditions` hold. One that is false decides; otherwise one that fails, whose error
// is given.
[[nodiscard]] std::expected<bool, std::string> EvaluateConditions(
    std::span<const PolicyExpression> conditions, std::span<const PolicyVariable> variables,
    const PolicyInputs& inputs, cel::Arena& arena);

}  // namespace drachma::apiserver
