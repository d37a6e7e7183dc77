#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/result.h"
#include "json/value.h"

namespace drachma::api {

// One requirement of a label selector (labels.Requirement).
struct LabelRequirement {
  enum class Operator : std::uint8_t {
    kIn,
    kNotIn,
    kEquals,
    kDoubleEquals,  // the same, but it shows in ToString
    kNotEquals,
    kExists,
    kDoesNotExist,
    kGreaterThan,
    kLessThan,
  };
  std::string key;
  Operator op = Operator::kExists;
  std::vector<std::string> values;

  [[nodiscard]] bool Matches(const json::Value& labels) const;
  [[nodiscard]] std::string ToString() const;
};

// A label selector; without requirements it matches everything. A value type.
class LabelSelector {
 public:
  LabelSelector() = default;
  // "a=b,c in (d,e),!f,g>3". ERRORS: kBadRequest with labels.Parse's text.
  [[nodiscard]] static Result<LabelSelector> Parse(std::string_view text);
  // Of a metav1.LabelSelector; a null value matches nothing, an empty one everything.
  // ERRORS: kBadRequest for an operator that is none.
  [[nodiscard]] static Result<LabelSelector> FromObject(const json::Value& selector);
  // Of a plain map of labels (ReplicationController, Service): SelectorFromSet, for which null and
  // {} match everything.
  [[nodiscard]] static LabelSelector FromMap(const json::Value& labels);

  // `labels` is the object metadata.labels, or null.
  [[nodiscard]] bool Matches(const json::Value& labels) const;
  [[nodiscard]] bool empty() const { return requirements_.empty() && !nothing_; }
  [[nodiscard]] const std::vector<LabelRequirement>& requirements() const { return requirements_; }
  // labels.Selector's String(): requirements sorted by key.
  [[nodiscard]] std::string ToString() const;

 private:
  std::vector<LabelRequirement> requirements_;
  bool nothing_ = false;
};

// A field selector: equalities and inequalities, joined by "and". A value type.
class FieldSelector {
 public:
  struct Term {
    std::string label;
    std::string value;
    bool equal = true;
  };

  FieldSelector() = default;
  // ERRORS: kBadRequest with fields.ParseSelector's text ("invalid selector: 'x'; can't
  // understand 'x'").
  [[nodiscard]] static Result<FieldSelector> Parse(std::string_view text);

  // Checks that the kind knows each label and finds its path.
  // ERRORS: kBadRequest with the text of the kind's conversion function ("field label not
  // supported: x", `"x" is not a known field selector: only "metadata.name", …`).
  [[nodiscard]] Status Resolve(const KindInfo& kind, std::string_view version);
  // REQUIRES: resolved (or only metadata.name and metadata.namespace).
  [[nodiscard]] bool Matches(const json::Value& object) const;
  [[nodiscard]] bool empty() const { return terms_.empty(); }
  [[nodiscard]] const std::vector<Term>& terms() const { return terms_; }
  // The members that Matches() looks at, as dotted paths ("spec.nodeName", "status.podIPs").
  [[nodiscard]] std::vector<std::string> Members() const;
  // The value that an equality on `label` asks for; null when there is none.
  [[nodiscard]] const std::string* RequiredValue(std::string_view label) const;

 private:
  std::vector<Term> terms_;
  std::vector<std::string_view> paths_;
};

// The value of a field label's path in an object, as the text that selectors compare.
[[nodiscard]] std::string FieldText(const json::Value& object, std::string_view path);

}  // namespace drachma::api
