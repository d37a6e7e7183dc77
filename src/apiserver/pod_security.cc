#include "apiserver/pod_security.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string_view>

#include "apiserver/pod_security_checks.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::array<std::string_view, 3> kLevels = {"privileged", "baseline", "restricted"};
constexpr int kNewestMinor = 37;  // the newest version in which a rule changed

std::optional<SecurityLevel> ParseLevel(std::string_view text) {
  const auto found = std::ranges::find(kLevels, text);
  if (found == kLevels.end()) return std::nullopt;
  return static_cast<SecurityLevel>(found - kLevels.begin());
}

// "latest" or "v1.x".
std::optional<int> ParseVersion(std::string_view text) {
  constexpr std::string_view kPrefix = "v1.";
  if (text == "latest") return SecurityPolicy::kLatest;
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  int minor = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), minor);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (text.empty() || leading_zero || text[0] == '-' || !whole) return std::nullopt;
  return minor;
}

// Reads one mode of the labels; what cannot be read becomes `fallback` and an error.
class LabelReader {
 public:
  LabelReader(const Value& labels, validation::ErrorList& errors)
      : labels_(labels), errors_(errors) {}

  // Whether a level is given and can be read.
  bool Level(std::string_view mode, SecurityLevel fallback, SecurityLevel& level) {
    const std::string label = fmt::format("pod-security.kubernetes.io/{}", mode);
    const Value* value = labels_.Find(label);
    if (value == nullptr) return false;
    const auto parsed = ParseLevel(value->AsString());
    level = parsed.value_or(fallback);
    if (!parsed) {
      Report(label, value->AsString(), fmt::format("must be one of {}", fmt::join(kLevels, ", ")));
    }
    return parsed.has_value();
  }

  void Version(std::string_view mode, int& minor) {
    const std::string label = fmt::format("pod-security.kubernetes.io/{}-version", mode);
    const Value* value = labels_.Find(label);
    if (value == nullptr) return;
    const auto parsed = ParseVersion(value->AsString());
    minor = parsed.value_or(SecurityPolicy::kLatest);
    if (!parsed) Report(label, value->AsString(), "must be \"latest\" or \"v1.x\"");
  }

  [[nodiscard]] bool Has(std::string_view name) const {
    return labels_.Has(fmt::format("pod-security.kubernetes.io/{}", name));
  }

 private:
  void Report(const std::string& label, std::string_view value, std::string why) {
    errors_.push_back(validation::Invalid(validation::Key("metadata.labels", label),
                                          validation::ShownText(value), std::move(why)));
  }

  const Value& labels_;
  validation::ErrorList& errors_;
};

}  // namespace

std::string SecurityPolicy::ToString() const {
  const std::string_view name = kLevels[static_cast<std::size_t>(level)];
  return minor == kLatest ? fmt::format("{}:latest", name) : fmt::format("{}:v1.{}", name, minor);
}

SecurityPolicies SecurityPoliciesOf(const Value& labels) {
  SecurityPolicies policies;
  if (labels.empty()) return policies;
  LabelReader reader(labels, policies.errors);
  const bool enforces = reader.Level("enforce", SecurityLevel::kRestricted, policies.enforce.level);
  reader.Version("enforce", policies.enforce.minor);
  reader.Level("audit", SecurityLevel::kPrivileged, policies.audit.level);
  reader.Version("audit", policies.audit.minor);
  reader.Level("warn", SecurityLevel::kPrivileged, policies.warn.level);
  reader.Version("warn", policies.warn.minor);
  // Who enforces a level wants to be warned of it in pods' controllers, too.
  if (!reader.Has("warn") && enforces && policies.enforce.level > policies.warn.level) {
    policies.warn.level = policies.enforce.level;
    if (!reader.Has("warn-version")) policies.warn.minor = policies.enforce.minor;
  }
  return policies;
}

std::vector<SecurityViolation> SecurityViolations(const SecurityPolicy& policy, const Value& pod) {
  std::vector<SecurityViolation> violations;
  if (policy.level == SecurityLevel::kPrivileged) return violations;
  const int minor = std::min(policy.minor, kNewestMinor);
  const auto baseline = BaselineSecurityChecks();
  const auto restricted = policy.level == SecurityLevel::kRestricted
                              ? RestrictedSecurityChecks()
                              : std::span<const SecurityCheck>();
  // Of one check's versions the newest that is not newer than the policy's counts, unless a check
  // of the restricted level takes its place.
  const auto replaced = [&](const SecurityCheck& check) {
    const auto by = [&](const SecurityCheck& other) {
      const bool newer = other.id == check.id && other.since > check.since;
      return other.since <= minor && (newer || other.overrides == check.id);
    };
    return std::ranges::any_of(baseline, by) || std::ranges::any_of(restricted, by);
  };
  for (const auto& checks : {baseline, restricted}) {
    for (const SecurityCheck& check : checks) {
      if (check.since > minor || replaced(check)) continue;
      if (auto violation = check.check(pod)) violations.push_back(std::move(*violation));
    }
  }
  return violations;
}

std::string DetailsOf(const std::vector<SecurityViolation>& violations) {
  std::string text;
  for (const SecurityViolation& violation : violations) {
    if (!text.empty()) text += ", ";
    text += violation.reason;
    if (!violation.detail.empty()) text += fmt::format(" ({})", violation.detail);
  }
  return text;
}

std::string ReasonsOf(const std::vector<SecurityViolation>& violations) {
  std::string text;
  for (const SecurityViolation& violation : violations) {
    text += (text.empty() ? "" : ", ") + violation.reason;
  }
  return text;
}

}  // namespace drachma::apiserver
