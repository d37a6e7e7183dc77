#include "apiserver/webhook_rules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "apiserver/policy_rules.h"
#include "cel/ext/url.h"
#include "validation/admission_rules.h"
#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Append;
using validation::Child;
using validation::ErrorList;
using validation::Index;
using validation::Invalid;
using validation::Required;
using validation::Shown;
using validation::ShownText;
using Words = std::span<const std::string_view>;

constexpr auto kFailurePolicies = std::to_array<std::string_view>({"Fail", "Ignore"});
constexpr auto kMatchPolicies = std::to_array<std::string_view>({"Equivalent", "Exact"});
constexpr auto kReinvocations = std::to_array<std::string_view>({"IfNeeded", "Never"});
constexpr auto kSideEffects =
    std::to_array<std::string_view>({"None", "NoneOnDryRun", "Some", "Unknown"});
constexpr auto kNoSideEffects = std::to_array<std::string_view>({"None", "NoneOnDryRun"});
constexpr auto kReviewVersions = std::to_array<std::string_view>({"v1", "v1beta1"});
constexpr std::int64_t kTimeoutSecondsMax = 30;
constexpr std::ptrdiff_t kNameDotsMin = 2;

bool Contains(Words words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool AnyAccepted(const Value& versions) {
  return std::ranges::any_of(versions.Items(), [](const Value& version) {
    return Contains(kReviewVersions, version.AsString());
  });
}

// What a new configuration must keep to; an update may keep what its predecessor did not.
struct Strictness {
  bool no_side_effects = true;
  bool known_review_version = true;
  bool unique_names = true;
  bool conditions = true;
};

Strictness StrictnessAfter(const Value& old, const Value& hooks) {
  if (old.IsNull()) return {};
  const auto before = old["webhooks"].Items();
  std::set<std::string_view> names;
  for (const Value& hook : before) names.insert(hook["name"].AsString());
  const auto now = hooks.Items();
  return {
      .no_side_effects = std::ranges::all_of(before,
                                             [](const Value& hook) {
                                               return Contains(kNoSideEffects,
                                                               hook["sideEffects"].AsString());
                                             }),
      .known_review_version =
          std::ranges::all_of(before,
                              [](const Value& hook) {
                                const Value& versions = hook["admissionReviewVersions"];
                                return versions.empty() || AnyAccepted(versions);
                              }),
      .unique_names = names.size() == before.size(),
      .conditions = !std::ranges::equal(before, now,
                                        [](const Value& a, const Value& b) {
                                          return a["matchConditions"] == b["matchConditions"];
                                        }),
  };
}

class HookChecker {
 public:
  HookChecker(const Value& hook, const Strictness& strict, std::string path)
      : hook_(hook), strict_(strict), path_(std::move(path)) {}

  ErrorList Run() {
    CheckName();
    for (std::size_t i = 0; i < hook_["rules"].size(); ++i) {
      Append(errors_, validation::ValidateOperationRule(hook_["rules"].Items()[i],
                                                        Index(Child(path_, "rules"), i)));
    }
    CheckEnum("failurePolicy", kFailurePolicies);
    CheckEnum("matchPolicy", kMatchPolicies);
    CheckSideEffects();
    CheckTimeout();
    for (const std::string_view field : {"namespaceSelector", "objectSelector"}) {
      if (hook_[field].IsNull()) continue;
      Append(errors_, validation::ValidateLabelSelector(hook_[field], Child(path_, field)));
    }
    CheckEnum("reinvocationPolicy", kReinvocations);
    CheckClient();
    if (strict_.conditions) {
      Append(errors_, MatchConditionFaults(hook_["matchConditions"], false,
                                           Child(path_, "matchConditions")));
    }
    CheckReviewVersions();
    return std::move(errors_);
  }

 private:
  void CheckName() {
    const std::string at = Child(path_, "name");
    const std::string_view name = hook_["name"].AsString();
    if (name.empty()) {
      errors_.push_back(Required(at));
    } else if (const auto faults = validation::IsDns1123Subdomain(name); !faults.empty()) {
      errors_.push_back(Invalid(at, ShownText(name), fmt::format("{}", fmt::join(faults, ","))));
    } else if (std::ranges::count(name, '.') < kNameDotsMin) {
      errors_.push_back(
          Invalid(at, ShownText(name),
                  "should be a domain with at least three segments separated by dots"));
    }
  }

  void CheckEnum(std::string_view field, Words supported) {
    const Value& value = hook_[field];
    if (value.IsNull() || Contains(supported, value.AsString())) return;
    errors_.push_back(validation::NotSupported(
        Child(path_, field), validation::ShownNamed(value.AsString()), supported));
  }

  void CheckSideEffects() {
    const Words allowed = strict_.no_side_effects ? Words(kNoSideEffects) : Words(kSideEffects);
    if (hook_["sideEffects"].IsNull()) {
      errors_.push_back(Required(Child(path_, "sideEffects"),
                                 fmt::format("must specify one of {}", fmt::join(allowed, ", "))));
    } else {
      CheckEnum("sideEffects", allowed);
    }
  }

  void CheckTimeout() {
    const Value& timeout = hook_["timeoutSeconds"];
    if (timeout.IsNull() || (timeout.AsInt() >= 1 && timeout.AsInt() <= kTimeoutSecondsMax)) return;
    errors_.push_back(Invalid(Child(path_, "timeoutSeconds"), Shown(timeout),
                              "the timeout value must be between 1 and 30 seconds"));
  }

  void CheckClient() {
    const Value& config = hook_["clientConfig"];
    const std::string at = Child(path_, "clientConfig");
    if (config["url"].IsNull() == config["service"].IsNull()) {
      errors_.push_back(Required(at, "exactly one of url or service is required"));
    } else if (!config["url"].IsNull()) {
      CheckUrl(config["url"].AsString(), Child(at, "url"));
    } else {
      CheckService(config["service"], Child(at, "service"));
    }
  }

  void CheckUrl(std::string_view text, const std::string& at) {
    constexpr std::string_view kForm = "; desired format: https://host[/path]";
    const auto url = cel::Url::ParseReference(text);
    if (!url) {
      errors_.push_back(
          Required(at, fmt::format("url must be a valid URL: {}{}", url.error(), kForm)));
      return;
    }
    if (url->scheme != "https") {
      errors_.push_back(Invalid(at, ShownText(url->scheme),
                                fmt::format("'https' is the only allowed URL scheme{}", kForm)));
    }
    if (url->host.empty()) {
      errors_.push_back(
          Invalid(at, ShownText(url->host), fmt::format("host must be specified{}", kForm)));
    }
    if (url->has_user) {
      const std::string user = url->has_password ? url->user + ":" + url->password : url->user;
      errors_.push_back(
          Invalid(at, ShownText(user), "user information is not permitted in the URL"));
    }
    if (!url->fragment.empty()) {
      errors_.push_back(
          Invalid(at, ShownText(url->fragment), "fragments are not permitted in the URL"));
    }
    if (!url->raw_query.empty()) {
      errors_.push_back(
          Invalid(at, ShownText(url->raw_query), "query parameters are not permitted in the URL"));
    }
  }

  // Upstream takes name and namespace for each other.
  void CheckService(const Value& service, const std::string& at) {
    if (service["namespace"].AsString().empty()) errors_.push_back(Required(Child(at, "name")));
    if (service["name"].AsString().empty()) errors_.push_back(Required(Child(at, "namespace")));
    if (const auto faults = validation::IsPortNumber(service["port"].AsInt()); !faults.empty()) {
      errors_.push_back(Invalid(Child(at, "port"), fmt::format("{}", service["port"].AsInt()),
                                fmt::format("port is not valid: {}", fmt::join(faults, ", "))));
    }
    CheckPath(service["path"].AsString(), Child(at, "path"));
  }

  void CheckPath(std::string_view text, const std::string& at) {
    const auto refuse = [&](std::string why) {
      errors_.push_back(Invalid(at, ShownText(text), std::move(why)));
    };
    if (text.empty() || text == "/") return;
    if (text == "//") return refuse("segment[0] may not be empty");
    if (!text.starts_with('/')) refuse("must start with a '/'");
    std::string_view rest = text.substr(1);
    if (rest.ends_with('/')) rest.remove_suffix(1);
    for (std::size_t segment = 0;; ++segment) {
      const std::size_t slash = rest.find('/');
      const std::string_view step = rest.substr(0, slash);
      if (step.empty()) {
        refuse(fmt::format("segment[{}] may not be empty", segment));
      } else {
        for (const std::string& fault : validation::IsDns1123Subdomain(step)) {
          refuse(fmt::format("segment[{}]: {}", segment, fault));
        }
      }
      if (slash == std::string_view::npos) return;
      rest.remove_prefix(slash + 1);
    }
  }

  void CheckReviewVersions() {
    const Value& versions = hook_["admissionReviewVersions"];
    const std::string at = Child(path_, "admissionReviewVersions");
    if (versions.empty()) {
      errors_.push_back(
          Required(at, fmt::format("must specify one of {}", fmt::join(kReviewVersions, ", "))));
      return;
    }
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < versions.size(); ++i) {
      const std::string_view version = versions.Items()[i].AsString();
      if (!seen.insert(version).second) {
        errors_.push_back(Invalid(Index(at, i), ShownText(version), "duplicate version"));
        continue;
      }
      Append(errors_,
             validation::InvalidEach(Index(at, i), version, validation::IsDns1035Label(version)));
    }
    if (strict_.known_review_version && !AnyAccepted(versions)) {
      errors_.push_back(Invalid(
          at, Shown(versions),
          fmt::format("must include at least one of {}", fmt::join(kReviewVersions, ", "))));
    }
  }

  const Value& hook_;
  const Strictness& strict_;
  const std::string path_;
  ErrorList errors_;
};

}  // namespace

ErrorList WebhookFaults(const Value& configuration, const Value& old) {
  const Value& hooks = configuration["webhooks"];
  const Strictness strict = StrictnessAfter(old, hooks);
  ErrorList errors;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const std::string at = Index("webhooks", i);
    Append(errors, HookChecker(hooks.Items()[i], strict, at).Run());
    const std::string_view name = hooks.Items()[i]["name"].AsString();
    if (strict.unique_names && !name.empty() && !names.insert(name).second) {
      errors.push_back(validation::Duplicate(Child(at, "name"), ShownText(name)));
    }
  }
  return errors;
}

}  // namespace drachma::apiserver
