#include "apiserver/impersonation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "apiserver/status.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kAccountPrefix = "system:serviceaccount:";
constexpr std::string_view kNodePrefix = "system:node:";
constexpr const char* kNodesGroup = "system:nodes";
constexpr const char* kNodeNameExtra = "authentication.kubernetes.io/node-name";
constexpr std::string_view kAuthentication = "authentication.k8s.io";
// From this many on, a right to all of them is looked for first.
constexpr std::size_t kManyChecks = 4;
// Users whose way of impersonating is remembered; then all are forgotten.
constexpr std::size_t kModesRemembered = 1024;

// "system:serviceaccount:NS:NAME" taken apart; empty for other users.
std::pair<std::string, std::string> AccountOf(std::string_view name) {
  if (!name.starts_with(kAccountPrefix)) return {};
  name.remove_prefix(kAccountPrefix.size());
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos || name.find(':', colon + 1) != std::string_view::npos) {
    return {};
  }
  return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1))};
}

bool IsAccount(std::string_view name) { return !AccountOf(name).second.empty(); }

bool IsDnsSubdomain(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  constexpr std::size_t kNameMax = 253;
  if (name.empty() || name.size() > kNameMax) return false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool edge = i == 0 || i + 1 == name.size() || name[i - 1] == '.' || name[i + 1] == '.';
    const bool inner = name[i] == '-' || name[i] == '.';
    if (!plain(name[i]) && (edge || !inner)) return false;
  }
  return true;
}

// The node of "system:node:NAME"; empty for other users.
std::string_view NodeOf(std::string_view name) {
  if (!name.starts_with(kNodePrefix)) return {};
  name.remove_prefix(kNodePrefix.size());
  return IsDnsSubdomain(name) ? name : std::string_view();
}

bool OnlyNamed(const User& wanted) {
  return wanted.uid.empty() && wanted.groups.empty() && wanted.extra.empty();
}

bool RunsOn(const User& requestor, std::string_view node) {
  const auto found = requestor.extra.find(kNodeNameExtra);
  return IsAccount(requestor.name) && found != requestor.extra.end() && found->second.size() == 1 &&
         found->second[0] == node;
}

// The modes, and whom they are for.
struct Mode {
  std::string_view name;  // empty: the verb "impersonate" alone
  bool (*fits)(const User& wanted, const User& requestor);
};
constexpr std::string_view kAssociatedNode = "associated-node";
constexpr auto kModes = std::to_array<Mode>({
    {kAssociatedNode,
     [](const User& wanted, const User& requestor) {
       const std::string_view node = NodeOf(wanted.name);
       return OnlyNamed(wanted) && !node.empty() && RunsOn(requestor, node);
     }},
    {"arbitrary-node",
     [](const User& wanted, const User&) {
       return OnlyNamed(wanted) && !NodeOf(wanted.name).empty();
     }},
    {"serviceaccount",
     [](const User& wanted, const User&) { return OnlyNamed(wanted) && IsAccount(wanted.name); }},
    {"user-info",
     [](const User& wanted, const User&) {
       return NodeOf(wanted.name).empty() && !IsAccount(wanted.name);
     }},
    {"", [](const User&, const User&) { return true; }},
});

// One mode's checks of one request.
class Check {
 public:
  Check(const Core& core, const User& requestor, const User& wanted, const Mode& mode)
      : core_(core), requestor_(requestor), wanted_(wanted), mode_(mode) {}

  Result<User> Run(Attributes request) const {
    if (Constrained()) {
      request.user = requestor_;
      request.verb = fmt::format("impersonate-on:{}:{}", mode_.name, request.verb);
      DRA_TRY(core_.Authorize(request));
    }
    User acting = wanted_;
    DRA_TRY(Name(acting));
    if (!wanted_.uid.empty()) DRA_TRY(May(kAuthentication, "uids", wanted_.uid));
    DRA_TRY(Groups());
    DRA_TRY(Extra());
    AddDefaultGroup(acting);
    return acting;
  }

 private:
  [[nodiscard]] bool Constrained() const { return !mode_.name.empty(); }

  [[nodiscard]] Attributes About(std::string_view group, std::string_view resource,
                                 std::string_view name) const {
    return {.user = requestor_,
            .verb = Constrained() ? fmt::format("impersonate:{}", mode_.name) : "impersonate",
            .group = std::string(group),
            .version = "v1",
            .resource = std::string(resource),
            .name = std::string(name)};
  }
  [[nodiscard]] Status May(std::string_view group, std::string_view resource,
                           std::string_view name) const {
    return core_.Authorize(About(group, resource, name));
  }
  // Users and groups belong to another group of the API in the constrained modes.
  [[nodiscard]] std::string_view Group() const { return Constrained() ? kAuthentication : ""; }

  Status Name(User& acting) const {
    const std::string_view node = NodeOf(wanted_.name);
    if (Constrained() && !node.empty()) {
      acting.groups = {kNodesGroup};
      // What is allowed for one node is allowed for the node of every account.
      return May(Group(), "nodes", mode_.name == kAssociatedNode ? "*" : node);
    }
    const auto [ns, account] = AccountOf(wanted_.name);
    if (account.empty()) return May(Group(), "users", wanted_.name);
    if (wanted_.groups.empty()) {
      acting.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns};
    }
    Attributes attributes = About(Group(), "serviceaccounts", account);
    attributes.ns = ns;
    return core_.Authorize(attributes);
  }

  [[nodiscard]] static Status Refuse(const Attributes& attributes, std::string_view why) {
    const std::string where = fmt::format(
        "User \"{}\" cannot {} resource \"{}\" in API group "
        "\"{}\" at the cluster scope: {}",
        attributes.user.name, attributes.verb, attributes.resource, attributes.group, why);
    return std::unexpected(
        ForbiddenError(attributes.group, attributes.resource, attributes.name, where));
  }

  Status Groups() const {
    if (wanted_.groups.empty()) return {};
    if (Constrained()) {
      if (wanted_.InGroup("")) {
        return Refuse(About(Group(), "groups", ""),
                      "impersonating the empty string group is not allowed");
      }
      if (wanted_.InGroup(kMastersGroup)) {
        return Refuse(About(Group(), "groups", kMastersGroup),
                      "impersonating the system:masters group is not allowed");
      }
      if (wanted_.groups.size() >= kManyChecks && May(Group(), "groups", "*")) return {};
    }
    for (const std::string& group : wanted_.groups) DRA_TRY(May(Group(), "groups", group));
    return {};
  }

  // What is wrong with the extra values for a constrained mode; empty when nothing is.
  [[nodiscard]] std::string ExtraFault() const {
    for (const auto& [key, values] : wanted_.extra) {
      if (key.empty()) return "impersonating the empty string key in extra is not allowed";
      const std::size_t slash = key.find('/');
      if (slash == std::string::npos || !IsDnsSubdomain(key.substr(0, slash))) {
        return fmt::format(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "
            "\"{}\": must be a domain-prefixed path (such as \"acme.io/foo\")",
            key);
      }
      if (values.empty()) return "impersonating empty values in extra is not allowed";
      if (std::ranges::find(values, "") != values.end()) {
        return "impersonating the empty string value in extra is not allowed";
      }
    }
    return {};
  }

  Status Extra() const {
    if (wanted_.extra.empty()) return {};
    Attributes attributes = About(kAuthentication, "userextras", "");
    std::size_t count = 0;
    for (const auto& [key, values] : wanted_.extra)
      count += std::max<std::size_t>(1, values.size());
    if (Constrained()) {
      if (const std::string fault = ExtraFault(); !fault.empty()) return Refuse(attributes, fault);
      attributes.subresource = "*";
      attributes.name = "*";
      if (count >= kManyChecks && core_.Authorize(attributes)) return {};
    }
    for (const auto& [key, values] : wanted_.extra) {
      attributes.subresource = key;
      for (const std::string& value : values) {
        attributes.name = value;
        DRA_TRY(core_.Authorize(attributes));
      }
    }
    return {};
  }

  static void AddDefaultGroup(User& acting) {
    const bool anonymous = acting.name == kAnonymousUser;
    if (!anonymous && acting.InGroup(kUnauthenticatedGroup)) return;
    const char* group = anonymous ? kUnauthenticatedGroup : kAuthenticatedGroup;
    if (!acting.InGroup(group)) acting.groups.emplace_back(group);
  }

  const Core& core_;
  const User& requestor_;
  const User& wanted_;
  const Mode& mode_;
};

}  // namespace

Result<User> Impersonate(const Core& core, const User& requestor, const User& wanted,
                         const Attributes& request) {
  std::optional<Error> first;
  const auto attempt = [&](std::size_t index) -> std::optional<User> {
    const Mode& mode = kModes[index];
    if (!mode.fits(wanted, requestor)) return std::nullopt;
    Result<User> acting = Check(core, requestor, wanted, mode).Run(request);
    if (acting) return *std::move(acting);
    if (!first) first = std::move(acting.error());
    return std::nullopt;
  };
  // Who impersonates does so in the same way all the time: that one is asked first.
  std::unordered_map<std::string, std::size_t>& last = core.impersonation_modes();
  const auto known = last.find(requestor.name);
  const std::size_t before = known == last.end() ? kModes.size() : known->second;
  if (before < kModes.size()) {
    if (std::optional<User> acting = attempt(before)) return *std::move(acting);
  }
  for (std::size_t index = 0; index < kModes.size(); ++index) {
    if (index == before) continue;
    std::optional<User> acting = attempt(index);
    if (!acting) continue;
    if (last.size() >= kModesRemembered) last.clear();
    last[requestor.name] = index;
    return *std::move(acting);
  }
  return std::unexpected(std::move(*first));
}

}  // namespace drachma::apiserver
