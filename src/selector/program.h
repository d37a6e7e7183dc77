#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "selector/device.h"
#include "selector/error_text.h"

namespace drachma::selector {

// resource.k8s.io's limits (CELSelectorExpressionMaxLength, CELSelectorExpressionMaxCost).
inline constexpr std::size_t kExpressionBytesMax = 10 * 1024;
inline constexpr std::uint64_t kCostMax = 1'000'000;
// The estimate of an expression that was compiled without one.
inline constexpr std::uint64_t kCostUnknown = std::numeric_limits<std::uint64_t>::max();

// Which declarations an expression may use (apiserver's environment.Type). New: what a client
// writes into an object today: functions and fields known to the compatibility version and enabled
// by feature gates. Stored: what stands in an object already: everything this binary knows.
enum class Environment : std::uint8_t { kNew, kStored };

// A selector answers bool; a derived attribute (DRADerivedAttributes) answers an attribute value.
enum class Purpose : std::uint8_t { kSelector, kDerivedAttribute };

struct CompileOptions {
  bool consumable_capacity = true;    // gate DRAConsumableCapacity
  bool list_type_attributes = false;  // gate DRAListTypeAttributes
  Environment environment = Environment::kStored;
  Purpose purpose = Purpose::kSelector;
  // Upstream's scheduler does without the estimate; validation needs it.
  bool estimate_cost = true;
  std::uint64_t cost_limit = kCostMax;  // of one evaluation
  // The minor version N of Kubernetes 1.N with which new expressions must stay compatible.
  int compatibility_minor = 36;
};

// One problem of an expression. Line counts from 1; column from 0, in code points, as cel-go does
// (messages show column + 1).
struct Issue {
  int line = 0;
  int column = 0;
  std::string message;
};

struct CompileError {
  enum class Type : std::uint8_t { kInvalid, kInternal };  // apiserver's cel.ErrorType
  Type type = Type::kInvalid;
  // The whole text, exactly as upstream's: "compilation failed: ERROR: <input>:1:5: …" with source
  // and caret line, or "must evaluate to bool or the unknown type, not string".
  std::string message;
  std::vector<Issue> issues;  // empty when the problem has no place
};

enum class Verdict : std::uint8_t { kNoMatch, kMatch, kError };

// What one evaluation gave.
struct Outcome {
  Verdict verdict = Verdict::kError;
  ErrorText error;  // for kError: upstream's text, e.g. "no such key: type"
  // The actual cost in CEL's units; also known for most errors.
  std::uint64_t cost = 0;
  bool has_cost = false;  // false when the device was refused before evaluation began
};

struct DerivedOutcome {
  Result<AttributeValue> value;  // ERRORS: kInvalid with upstream's text
  std::uint64_t cost = 0;
  bool has_cost = false;
};

// A compiled expression. Immutable; evaluation may run in any number of threads at once and takes
// nothing from the heap for the usual selectors, whatever comes of it.
class Program {
 public:
  ~Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;

  // Evaluates a selector. REQUIRES: compiled with Purpose::kSelector.
  // `interrupt`, when given, is looked at every 100 iterations of a comprehension (upstream's
  // InterruptCheckFrequency); once true the evaluation ends with "operation interrupted".
  [[nodiscard]] Outcome Match(const Device& device,
                              const std::atomic<bool>* interrupt = nullptr) const;
  // Evaluates a derived attribute. REQUIRES: compiled with Purpose::kDerivedAttribute.
  [[nodiscard]] DerivedOutcome EvaluateDerived(const Device& device,
                                               const std::atomic<bool>* interrupt = nullptr) const;

  [[nodiscard]] const std::string& expression() const;
  // The worst-case cost of an evaluation; kCostUnknown without an estimate.
  [[nodiscard]] std::uint64_t max_cost() const;
  // The deduced type, in CEL's spelling ("bool", "any", "dyn", "list(string)").
  [[nodiscard]] std::string output_type() const;

  struct Impl;  // for selector's own files
  explicit Program(std::unique_ptr<const Impl> impl);
  [[nodiscard]] const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<const Impl> impl_;
};

// Compiles `expression` as k8s.io/dynamic-resource-allocation/cel does. The length limit
// (kExpressionBytesMax) and the limit on max_cost() are the caller's to apply to new objects:
// upstream's validation reports them as errors of their own.
[[nodiscard]] std::expected<Program, CompileError> Compile(std::string_view expression,
                                                           const CompileOptions& options);

// Upstream's EnhanceRuntimeError: the hint added to "no such key" errors where they are shown.
[[nodiscard]] std::string EnhanceRuntimeError(std::string error);

}  // namespace drachma::selector
