#include "validation/limit_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "num/quantity.h"
#include "validation/names.h"
#include "validation/pod_rules.h"

namespace drachma::validation {
namespace {

using json::Value;

constexpr std::int64_t kMilliMax = INT64_MAX / 1000;  // what still counts in thousandths

ErrorList ValidateType(std::string_view type, const std::string& path) {
  static constexpr std::array<std::string_view, 3> kTypes = {"Pod", "Container",
                                                             "PersistentVolumeClaim"};
  ErrorList errors;
  for (const std::string& fault : IsLabelKey(type)) {
    errors.push_back(Invalid(path, ShownNamed(type), fault));
  }
  if (errors.empty() && !type.contains('/') && std::ranges::find(kTypes, type) == kTypes.end()) {
    errors.push_back(
        Invalid(path, ShownNamed(type), "must be a standard limit type or fully qualified"));
  }
  return errors;
}

ErrorList ValidateLimitName(std::string_view type, std::string_view name, const std::string& path) {
  return type == "Pod" || type == "Container" ? ValidateContainerResourceName(name, path)
                                              : ValidateResourceName(name, path);
}

// One entry of `limits`.
class LimitChecker {
 public:
  LimitChecker(const Value& limit, std::string path, ErrorList& errors)
      : limit_(limit), path_(std::move(path)), errors_(errors) {}

  void Run() {
    const std::string_view type = limit_["type"].AsString();
    ReadNames("max");
    ReadNames("min");
    for (const std::string_view field : {"default", "defaultRequest"}) {
      if (type != "Pod") {
        ReadNames(field);
      } else if (!limit_[field].empty()) {
        errors_.push_back(
            Forbidden(Child(path_, field), "may not be specified when `type` is 'Pod'"));
      }
    }
    if (type == "PersistentVolumeClaim" && !limit_["min"].Has("storage") &&
        !limit_["max"].Has("storage")) {
      errors_.push_back(Required(
          Child(path_, "limits"),
          "either minimum or maximum storage value is required, but neither was provided"));
    }
    ReadNames("maxLimitRequestRatio");
    for (const std::string& name : names_) Compare(name);
  }

 private:
  using Amount = const Quantity*;

  void ReadNames(std::string_view field) {
    for (const json::Member& amount : limit_[field].Members()) {
      const std::string at = Key(Child(path_, field), amount.key());
      Append(errors_, ValidateLimitName(limit_["type"].AsString(), amount.key(), at));
      names_.emplace(amount.key());
      amounts_[std::string(field)][std::string(amount.key())] =
          Quantity::Parse(amount.value.AsString()).value_or(Quantity());
    }
  }

  Amount Find(const std::string& field, const std::string& name) const {
    const auto list = amounts_.find(field);
    if (list == amounts_.end()) return nullptr;
    const auto found = list->second.find(name);
    return found == list->second.end() ? nullptr : &found->second;
  }

  // `lower` must not be above `upper`; `shown` is the value that the error shows.
  void Order(Amount lower, std::string_view lower_words, Amount upper, std::string_view upper_words,
             std::string_view field, const std::string& name, Amount shown) {
    if (lower == nullptr || upper == nullptr || lower->Compare(*upper) <= 0) return;
    errors_.push_back(Invalid(Key(Child(path_, field), name), ShownText(shown->ToString()),
                              fmt::format("{} value {} is greater than {} value {}", lower_words,
                                          lower->ToString(), upper_words, upper->ToString())));
  }

  void Compare(const std::string& name) {
    const Amount min = Find("min", name);
    const Amount max = Find("max", name);
    const Amount limit = Find("default", name);
    const Amount request = Find("defaultRequest", name);
    Order(min, "min", max, "max", "min", name, min);
    Order(min, "min", request, "default request", "defaultRequest", name, request);
    Order(request, "default request", max, "max", "defaultRequest", name, request);
    Order(request, "default request", limit, "default limit", "defaultRequest", name, request);
    Order(min, "min", limit, "default", "default", name, min);
    Order(limit, "default", max, "max", "default", name, max);
    CompareRatio(name, min, max);
    const bool overcommits = IsNativeResource(name) && !IsHugePageResourceName(name);
    if (!overcommits && limit != nullptr && request != nullptr && limit->Compare(*request) != 0) {
      errors_.push_back(Invalid(Key(Child(path_, "defaultRequest"), name),
                                ShownText(request->ToString()),
                                fmt::format("default value {} must equal to defaultRequest value "
                                            "{} in {}",
                                            limit->ToString(), request->ToString(), name)));
    }
  }

  void CompareRatio(const std::string& name, Amount min, Amount max) {
    const Amount ratio = Find("maxLimitRequestRatio", name);
    if (ratio == nullptr) return;
    const std::string at = Key(Child(path_, "maxLimitRequestRatio"), name);
    const std::string shown = ShownText(ratio->ToString());
    if (ratio->CompareInt(1) < 0) {
      errors_.push_back(
          Invalid(at, shown, fmt::format("ratio {} is less than 1", ratio->ToString())));
    }
    if (min == nullptr || max == nullptr) return;
    auto wanted = static_cast<double>(ratio->Value());
    auto lowest = static_cast<double>(min->Value());
    auto highest = static_cast<double>(max->Value());
    if (ratio->Value() < kMilliMax && min->Value() < kMilliMax && max->Value() < kMilliMax) {
      wanted = static_cast<double>(ratio->MilliValue()) / 1000;
      lowest = static_cast<double>(min->MilliValue());
      highest = static_cast<double>(max->MilliValue());
    }
    const double possible = highest / lowest;
    if (wanted > possible) {
      errors_.push_back(Invalid(
          at, shown,
          fmt::format("ratio {} is greater than max/min = {:f}", ratio->ToString(), possible)));
    }
  }

  const Value& limit_;
  const std::string path_;
  ErrorList& errors_;
  std::set<std::string> names_;
  std::map<std::string, std::map<std::string, Quantity>, std::less<>> amounts_;  // by field
};

}  // namespace

ErrorList ValidateLimits(const Value& limits, const std::string& path) {
  ErrorList errors;
  std::set<std::string_view> types;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Value& limit = limits.Items()[i];
    const std::string at = Index(path, i);
    const std::string_view type = limit["type"].AsString();
    Append(errors, ValidateType(type, Child(at, "type")));
    if (!types.insert(type).second) {
      errors.push_back(Duplicate(Child(at, "type"), ShownNamed(type)));
    }
    LimitChecker(limit, at, errors).Run();
  }
  return errors;
}

}  // namespace drachma::validation
