#include "apiserver/http_identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include "apiserver/http_attributes.h"
#include "apiserver/impersonation.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kBearer = "Bearer ";

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

// What the headers ask for, as upstream prints it.
std::string Shown(const User& wanted) {
  const auto list = [](const std::vector<std::string>& values) {
    return values.empty() ? std::string("[]string(nil)")
                          : fmt::format("[]string{{\"{}\"}}", fmt::join(values, "\", \""));
  };
  std::string extra = "map[string][]string(nil)";
  if (!wanted.extra.empty()) {
    extra.clear();
    for (const auto& [key, values] : wanted.extra) {
      extra += fmt::format("{}\"{}\":{}", extra.empty() ? "" : ", ", key, list(values));
    }
    extra = "map[string][]string{" + extra + "}";
  }
  return fmt::format("&user.DefaultInfo{{Name:\"\", UID:\"{}\", Groups:{}, Extra:{}}}", wanted.uid,
                     list(wanted.groups), extra);
}

std::map<std::string, std::vector<std::string>> WantedExtra(const net::HttpRequest& request) {
  constexpr std::string_view kExtra = "impersonate-extra-";
  std::map<std::string, std::vector<std::string>> extra;
  for (const auto& [name, value] : request.headers.fields()) {
    std::string lower = name;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (!lower.starts_with(kExtra)) continue;
    extra[net::PercentDecode(lower.substr(kExtra.size()))].push_back(value);
  }
  return extra;
}

Result<User> Impersonated(const Core& core, User user, const net::HttpRequest& request) {
  User wanted{.name = std::string(request.headers.Get("Impersonate-User")),
              .uid = std::string(request.headers.Get("Impersonate-Uid"))};
  for (const std::string_view group : request.headers.All("Impersonate-Group")) {
    wanted.groups.emplace_back(group);
  }
  wanted.extra = WantedExtra(request);
  if (!wanted.name.empty()) return Impersonate(core, user, wanted, AttributesOf(request));
  if (wanted.groups.empty() && wanted.uid.empty() && wanted.extra.empty()) return user;
  return BadInput(fmt::format("requested {} without impersonating a user name", Shown(wanted)));
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
    return Impersonated(core, std::move(**user), request);
  }
  User anonymous{.name = kAnonymousUser, .groups = {kUnauthenticatedGroup}};
  if (authenticated != nullptr) *authenticated = anonymous;
  return Impersonated(core, std::move(anonymous), request);
}

}  // namespace drachma::apiserver
