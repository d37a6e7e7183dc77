#include "validation/job_policies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>
#include <string_view>

#include "validation/names.h"
#include "validation/object_meta.h"
#include "validation/pod_rules.h"

namespace drachma::validation {

using json::Value;

namespace {

// A policy's counts, and what it may say (pkg/apis/batch/validation).
constexpr std::size_t kFailureRulesMax = 20;
constexpr std::size_t kPodConditionsMax = 20;
constexpr std::size_t kExitCodesMax = 255;
constexpr std::size_t kSuccessRulesMax = 20;
constexpr std::size_t kSucceededIndexesBytesMax = 64 * 1024;
constexpr std::size_t kManagedByBytesMax = 63;
constexpr std::array<std::string_view, 4> kActions = {"Count", "FailIndex", "FailJob", "Ignore"};
constexpr std::array<std::string_view, 2> kOperators = {"In", "NotIn"};
constexpr std::array<std::string_view, 3> kStatuses = {"False", "True", "Unknown"};

// One of a list of words, with upstream's `valid values: ["A" "B"]` when there is none.
ErrorList ValidateWord(std::string_view word, std::span<const std::string_view> words,
                       const std::string& path) {
  if (word.empty()) {
    return {Required(path, fmt::format("valid values: [\"{}\"]", fmt::join(words, "\" \"")))};
  }
  if (std::ranges::find(words, word) != words.end()) return {};
  return {NotSupported(path, ShownNamed(word), words)};
}

ErrorList ValidateExitCodes(const Value& codes, const Value& pod, const std::string& path) {
  const std::string values_path = Child(path, "values");
  const std::string_view op = codes["operator"].AsString();
  ErrorList errors = ValidateWord(op, kOperators, Child(path, "operator"));
  const Value& container = codes["containerName"];
  const auto named = [&](const Value& one) {
    return one["name"].AsString() == container.AsString();
  };
  if (!container.IsNull() && !std::ranges::any_of(pod["containers"].Items(), named) &&
      !std::ranges::any_of(pod["initContainers"].Items(), named)) {
    errors.push_back(
        Invalid(Child(path, "containerName"), ShownText(container.AsString()),
                "must be one of the container or initContainer names in the pod template"));
  }
  const auto values = codes["values"].Items();
  if (values.empty()) {
    errors.push_back(Invalid(values_path, "null", "at least one value is required"));
  } else if (values.size() > kExitCodesMax) {
    errors.push_back(TooMany(values_path, values.size(), kExitCodesMax));
  }
  bool ordered = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t value = values[i].AsInt();
    const std::string at = Index(values_path, i);
    if (op == "In" && value == 0) {
      errors.push_back(Invalid(at, "0", "must not be 0 for the In operator"));
    }
    const auto before = values.first(i);
    if (std::ranges::find(before, values[i]) != before.end()) {
      errors.push_back(Duplicate(at, ShownInt(value)));
    }
    if (i > 0 && values[i - 1].AsInt() > value) ordered = false;
  }
  if (!ordered) errors.push_back(Invalid(values_path, Shown(codes["values"]), "must be ordered"));
  return errors;
}

ErrorList ValidatePodConditions(const Value& patterns, const std::string& path) {
  ErrorList errors;
  if (patterns.size() > kPodConditionsMax) {
    errors.push_back(TooMany(path, patterns.size(), kPodConditionsMax));
  }
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const Value& pattern = patterns.Items()[i];
    const std::string at = Index(path, i);
    Append(errors, ValidateQualifiedNameAt(pattern["type"].AsString(), Child(at, "type")));
    Append(errors, ValidateWord(pattern["status"].AsString(), kStatuses, Child(at, "status")));
  }
  return errors;
}

ErrorList ValidateFailureRule(const Value& rule, const Value& spec, const std::string& path) {
  const std::string_view action = rule["action"].AsString();
  const std::string action_path = Child(path, "action");
  ErrorList errors;
  if (action == "FailIndex") {
    if (spec["backoffLimitPerIndex"].IsNull()) {
      errors.push_back(
          Invalid(action_path, ShownNamed(action), "requires the backoffLimitPerIndex to be set"));
    }
  } else {
    Append(errors, ValidateWord(action, kActions, action_path));
  }
  const bool codes = !rule["onExitCodes"].IsNull();
  const bool conditions = !rule["onPodConditions"].empty();
  if (codes) {
    Append(errors, ValidateExitCodes(rule["onExitCodes"], spec["template"]["spec"],
                                     Child(path, "onExitCodes")));
  }
  if (conditions) {
    Append(errors, ValidatePodConditions(rule["onPodConditions"], Child(path, "onPodConditions")));
  }
  if (codes && conditions) {
    errors.push_back(
        Invalid(path, "", "specifying both OnExitCodes and OnPodConditions is not supported"));
  }
  if (!codes && !conditions) {
    errors.push_back(
        Invalid(path, "", "specifying one of OnExitCodes and OnPodConditions is required"));
  }
  return errors;
}

// The number of indexes in "1,3-5"; or, in `fault`, what is wrong with it (validateIndexesFormat).
std::int64_t CountIndexes(std::string_view text, std::int64_t completions, std::string& fault) {
  if (text.empty()) return 0;
  const auto number = [&](std::string_view digits, std::string_view which) {
    const bool good = !digits.empty() && digits.size() < 10 &&
                      std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
    if (good) return std::stoll(std::string(digits));
    fault = fmt::format("cannot convert string to integer for {}: {}", which, ShownText(digits));
    return -1LL;
  };
  std::int64_t total = 0;
  std::int64_t last = -1;
  for (const std::string_view interval : Split(text, ',')) {
    const auto bounds = Split(interval, '-');
    if (bounds.size() > 2) {
      fault = fmt::format(
          "the fragment {} violates the requirement that an index interval can "
          "have at most two parts separated by '-'",
          ShownText(interval));
      return 0;
    }
    const std::int64_t first = number(bounds[0], "index");
    if (!fault.empty()) return 0;
    if (first >= completions) {
      fault = fmt::format("too large index: {}", ShownText(bounds[0]));
      return 0;
    }
    if (last >= first) {
      fault = fmt::format("non-increasing order, previous: {}, current: {}", last, first);
      return 0;
    }
    last = first;
    if (bounds.size() == 2) {
      const std::int64_t end = number(bounds[1], "index");
      if (!fault.empty()) return 0;
      if (end >= completions) {
        fault = fmt::format("too large index: {}", ShownText(bounds[1]));
        return 0;
      }
      if (first >= end) {
        fault = fmt::format("non-increasing order, previous: {}, current: {}", first, end);
        return 0;
      }
      last = end;
    }
    total += last - first + 1;
  }
  return total;
}

ErrorList ValidateSuccessRule(const Value& rule, std::int64_t completions,
                              const std::string& path) {
  ErrorList errors;
  const Value& count = rule["succeededCount"];
  const Value& indexes = rule["succeededIndexes"];
  if (count.IsNull() && indexes.IsNull()) {
    errors.push_back(
        Required(path, "at least one of succeededCount or succeededIndexes must be specified"));
  }
  std::int64_t total = 0;
  if (!indexes.IsNull()) {
    const std::string at = Child(path, "succeededIndexes");
    if (indexes.AsString().size() > kSucceededIndexesBytesMax) {
      errors.push_back(TooLong(at, kSucceededIndexesBytesMax));
    }
    std::string fault;
    total = CountIndexes(indexes.AsString(), completions, fault);
    if (!fault.empty()) {
      errors.push_back(Invalid(at, Shown(indexes), "error parsing succeededIndexes: " + fault));
    }
  }
  if (count.IsNull()) return errors;
  const std::string at = Child(path, "succeededCount");
  Append(errors, ValidateNonNegative(count.AsInt(), at));
  const auto at_most = [&](std::int64_t max, std::string_view what) {
    if (count.AsInt() <= max) return;
    errors.push_back(Invalid(at, ShownInt(count.AsInt()),
                             fmt::format("must be less than or equal to {} ({})", max, what)));
  };
  at_most(completions, "the number of specified completions");
  if (!indexes.IsNull()) {
    at_most(total, "the number of indexes in the specified succeededIndexes field");
  }
  return errors;
}

}  // namespace

namespace {

// apimachinery's IsDomainPrefixedPath: "acme.io/foo".
ErrorList ValidateDomainPrefixedPath(std::string_view text, const std::string& path) {
  static constexpr std::string_view kPunctuation = "!#$%&'()*+,-./:;=?@_~";
  if (text.empty()) return {Required(path)};
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == text.size()) {
    return {
        Invalid(path, ShownText(text), "must be a domain-prefixed path (such as \"acme.io/foo\")")};
  }
  const std::string_view host = text.substr(0, slash);
  const std::string_view rest = text.substr(slash + 1);
  ErrorList errors = InvalidEach(path, host, IsDns1123Subdomain(host));
  const bool good = std::ranges::all_of(rest, [](unsigned char c) {
    return std::isalnum(c) != 0 || kPunctuation.contains(static_cast<char>(c));
  });
  if (!good) {
    errors.push_back(Invalid(path, ShownText(rest),
                             "Invalid path (regex used for validation is "
                             "'[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"));
  }
  return errors;
}

}  // namespace

ErrorList ValidateManagedBy(const Value& spec, const std::string& path) {
  if (spec["managedBy"].IsNull()) return {};
  const std::string at = Child(path, "managedBy");
  const std::string_view name = spec["managedBy"].AsString();
  ErrorList errors = ValidateDomainPrefixedPath(name, at);
  if (name.size() > kManagedByBytesMax) errors.push_back(TooLong(at, kManagedByBytesMax));
  return errors;
}

ErrorList ValidateFailurePolicy(const Value& spec, const std::string& path) {
  if (spec["podFailurePolicy"].IsNull()) return {};
  const std::string rules_path = Child(path, "podFailurePolicy.rules");
  const auto rules = spec["podFailurePolicy"]["rules"].Items();
  ErrorList errors;
  if (rules.size() > kFailureRulesMax) {
    errors.push_back(TooMany(rules_path, rules.size(), kFailureRulesMax));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Append(errors, ValidateFailureRule(rules[i], spec, Index(rules_path, i)));
  }
  return errors;
}

// REQUIRES: the job is indexed, which gives it completions.
ErrorList ValidateSuccessPolicy(const Value& spec, const std::string& path) {
  if (spec["successPolicy"].IsNull() || spec["completions"].IsNull()) return {};
  const std::string rules_path = Child(path, "successPolicy.rules");
  const auto rules = spec["successPolicy"]["rules"].Items();
  ErrorList errors;
  if (rules.empty()) {
    errors.push_back(Required(
        rules_path, "at least one rules must be specified when the successPolicy is specified"));
  }
  if (rules.size() > kSuccessRulesMax) {
    errors.push_back(TooMany(rules_path, rules.size(), kSuccessRulesMax));
  }
  for (std::size_t i = 0; i < rules.size(); ++i) {
    Append(errors,
           ValidateSuccessRule(rules[i], spec["completions"].AsInt(), Index(rules_path, i)));
  }
  return errors;
}

ErrorList ValidateReplacementPolicy(const Value& spec, const std::string& path) {
  static constexpr std::array<std::string_view, 2> kAll = {"Failed", "TerminatingOrFailed"};
  if (spec["podReplacementPolicy"].IsNull()) return {};
  const std::span<const std::string_view> allowed =
      std::span(kAll).first(spec["podFailurePolicy"].IsNull() ? 2 : 1);
  const std::string_view policy = spec["podReplacementPolicy"].AsString();
  if (std::ranges::find(allowed, policy) != allowed.end()) return {};
  return {NotSupported(path, ShownNamed(policy), allowed)};
}

}  // namespace drachma::validation
