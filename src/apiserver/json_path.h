#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::apiserver {

// The JSONPath of printer columns and scale paths, as client-go's jsonpath reads it without braces:
// ".spec.a", "['a.b/c']", "[0]", "[-1]", "[*]", ".*", `[?(@.type=="Ready")]`. Immutable; any
// thread.
class JsonPath {
 public:
  // Named limit.
  static constexpr std::size_t kStepsMax = 64;

  // ERRORS: kInvalid for what is no such path.
  [[nodiscard]] static Result<JsonPath> Parse(std::string_view text);

  // All values that the path leads to, in order; empty when it leads nowhere.
  [[nodiscard]] std::vector<json::Value> Find(const json::Value& root) const;
  // The member names of a path of nothing but members (".spec.replicas"); empty for others.
  [[nodiscard]] std::vector<std::string> Members() const;

 private:
  struct Step {
    enum class Type : unsigned char { kMember, kIndex, kAll, kFilter };
    Type type = Type::kMember;
    std::string name;        // of kMember; of kFilter the path behind "@."
    std::int64_t index = 0;  // of kIndex
    std::string wanted;      // of kFilter: the value to be equal to
  };
  static Result<Step> ParseBracket(std::string_view inside);
  static bool Matches(const Step& filter, const json::Value& item);

  std::vector<Step> steps_;
};

}  // namespace drachma::apiserver
