#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "json/value.h"

namespace drachma::apiserver {

// "5s", "2m44s", "3h", "8d": apimachinery's duration.HumanDuration, which is what AGE shows.
[[nodiscard]] std::string HumanDuration(Duration duration);
// Tells ages at a moment, and how long what it has told stays true.
class Ages {
 public:
  explicit Ages(Time now) : now_(now) {}

  // HumanDuration() since `then`.
  [[nodiscard]] std::string Since(Time then);
  // When the first of the ages told changes; the moment itself when that is not known.
  [[nodiscard]] Time until() const { return until_; }

 private:
  const Time now_;
  Time until_ = Time::max();
};
// How long ago the RFC 3339 time of `timestamp` was; "<unknown>" when there is none.
[[nodiscard]] std::string AgeOf(const json::Value& timestamp, Ages& ages);

// "a=b,c=d" in the order of keys, "<none>" for no labels: labels.FormatLabels.
[[nodiscard]] std::string FormatLabels(const json::Value& labels);
// The text of a metav1.LabelSelector as a selector query; empty for one that selects everything
// or is missing.
[[nodiscard]] std::string LabelSelectorText(const json::Value& selector);
// The same with "<none>" for the empty text: metav1.FormatLabelSelector.
[[nodiscard]] std::string FormatLabelSelector(const json::Value& selector);

}  // namespace drachma::apiserver
