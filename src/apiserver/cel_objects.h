#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "cel/check/checker.h"
#include "cel/eval/frame.h"
#include "cel/eval/plan.h"
#include "cel/ext/library.h"
#include "json/value.h"

namespace drachma::apiserver {

// CEL over API objects: what rules of custom resources are made of.

// The limit of one expression (apiserver's celconfig.PerCallLimit).
inline constexpr std::uint64_t kCelCallCostMax = 1'000'000;

// Adds the libraries that Kubernetes gives to expressions of today's clients.
void AddKubernetesLibraries(cel::Environment& env);

// The type of values of an OpenAPI schema; structs of it are declared under `name`. Null schemas
// and those that keep unknown fields are dyn.
[[nodiscard]] const cel::Type* TypeOfSchema(cel::CheckEnv& env, const json::Value& schema,
                                            const std::string& name);
// A JSON value as CEL sees it, with the names of declared properties escaped. Texts are kept by
// reference: `value` must outlive the result.
[[nodiscard]] cel::Value ValueOfJson(cel::Arena& arena, const json::Value& value,
                                     const json::Value& schema);
// "foo-bar" is written foo__dash__bar in expressions; empty for names that cannot be written.
[[nodiscard]] std::string EscapedName(std::string_view name);

// The variables of one evaluation.
class CelVariables final : public cel::Activation {
 public:
  void Set(std::string_view name, const cel::Value& value) { values_[name] = value; }
  [[nodiscard]] bool Find(std::string_view name, cel::Value* value) const override;

 private:
  std::map<std::string_view, cel::Value> values_;  // names are literals
};

// A compiled expression with the environment that it was checked in. Immutable.
struct CelProgram {
  std::shared_ptr<const cel::Environment> env;
  cel::CheckedAst checked;  // holds the texts that the plan refers to
  std::unique_ptr<cel::Plan> plan;
};
// ERRORS: upstream's text, "compilation failed: ERROR: <input>:1:5: …".
[[nodiscard]] std::expected<CelProgram, std::string> CompileCel(
    std::string_view text, std::shared_ptr<const cel::Environment> env, cel::TypeKind wanted,
    std::string_view wanted_words);

}  // namespace drachma::apiserver
