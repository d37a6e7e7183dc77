#include "apiserver/http_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace drachma::apiserver {
namespace {

constexpr std::string_view kBearer = "Bearer ";
constexpr std::string_view kAccountPrefix = "system:serviceaccount:";

std::unexpected<Error> Unauthorized() { return Fail(Code::kUnauthorized, "Unauthorized"); }

Credentials CredentialsOf(const net::HttpRequest& request) {
  Credentials credentials;
  if (request.identity) {
    credentials.certificate_common_name = request.identity->common_name;
    credentials.certificate_organizations = request.identity->organizations;
  }
  const std::string_view header = request.headers.Get("Authorization");
  if (header.size() > kBearer.size() &&
      std::ranges::equal(header.substr(0, kBearer.size()), kBearer, [](char a, char b) {
        return std::tolower(static_cast<unsigned char>(a)) ==
               std::tolower(static_cast<unsigned char>(b));
      })) {
    credentials.bearer_token = header.substr(kBearer.size());
  }
  return credentials;
}

// Every user that was authenticated is in this group.
void AddAuthenticatedGroup(User& user) {
  if (!user.InGroup(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
}

Status MayImpersonate(const Core& core, const User& user, Attributes what) {
  what.user = user;
  what.verb = "impersonate";
  what.is_resource = true;
  return core.Authorize(what);
}

// "system:serviceaccount:NS:NAME" taken apart; empty for other users.
std::pair<std::string, std::string> AccountOf(std::string_view name) {
  if (!name.starts_with(kAccountPrefix)) return {};
  name.remove_prefix(kAccountPrefix.size());
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return {};
  return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1))};
}

Status ReadExtra(const Core& core, const User& user, const net::HttpRequest& request,
                 User& wanted) {
  constexpr std::string_view kExtra = "impersonate-extra-";
  for (const auto& [name, value] : request.headers.fields()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!lower.starts_with(kExtra)) continue;
    const std::string key = net::PercentDecode(lower.substr(kExtra.size()));
    DRA_TRY(MayImpersonate(core, user,
                           {.group = "authentication.k8s.io",
                            .version = "v1",
                            .resource = "userextras",
                            .subresource = key,
                            .name = value}));
    wanted.extra[key].push_back(value);
  }
  return {};
}

Result<User> Impersonated(const Core& core, const User& user, const net::HttpRequest& request) {
  User wanted{.name = std::string(request.headers.Get("Impersonate-User"))};
  for (const std::string_view group : request.headers.All("Impersonate-Group")) {
    wanted.groups.emplace_back(group);
  }
  wanted.uid = request.headers.Get("Impersonate-Uid");
  if (wanted.name.empty()) {
    if (wanted.groups.empty() && wanted.uid.empty()) return user;
    return Fail(Code::kInternal, "Internal error occurred: requested without impersonating a user");
  }
  const auto [ns, account] = AccountOf(wanted.name);
  if (!account.empty()) {
    DRA_TRY(MayImpersonate(
        core, user, {.version = "v1", .resource = "serviceaccounts", .ns = ns, .name = account}));
  } else {
    DRA_TRY(
        MayImpersonate(core, user, {.version = "v1", .resource = "users", .name = wanted.name}));
  }
  for (const std::string& group : wanted.groups) {
    DRA_TRY(MayImpersonate(core, user, {.version = "v1", .resource = "groups", .name = group}));
  }
  if (!wanted.uid.empty()) {
    DRA_TRY(MayImpersonate(core, user,
                           {.group = "authentication.k8s.io",
                            .version = "v1",
                            .resource = "uids",
                            .name = wanted.uid}));
  }
  DRA_TRY(ReadExtra(core, user, request, wanted));
  if (wanted.groups.empty() && !account.empty()) {
    wanted.groups = {"system:serviceaccounts", "system:serviceaccounts:" + ns};
  }
  if (wanted.name != "system:anonymous") AddAuthenticatedGroup(wanted);
  return wanted;
}

}  // namespace

Result<User> IdentifyUser(const net::HttpRequest& request,
                          std::span<const std::shared_ptr<Authenticator>> authenticators,
                          const Core& core, User* authenticated) {
  const Credentials credentials = CredentialsOf(request);
  for (const auto& authenticator : authenticators) {
    Result<std::optional<User>> user = authenticator->Authenticate(credentials);
    if (!user) return Unauthorized();
    if (!*user) continue;
    AddAuthenticatedGroup(**user);
    if (authenticated != nullptr) *authenticated = **user;
    return Impersonated(core, **user, request);
  }
  return Unauthorized();
}

}  // namespace drachma::apiserver
