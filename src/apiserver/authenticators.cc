#include "apiserver/authenticators.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "net/certificates.h"

namespace drachma::apiserver {

Result<std::optional<User>> CertificateAuthenticator::Authenticate(const Credentials& credentials) {
  if (credentials.certificate_common_name.empty()) return std::nullopt;
  return User{.name = credentials.certificate_common_name,
              .groups = credentials.certificate_organizations};
}

namespace {

// The fields of a line of CSV; quoted fields may hold commas.
std::vector<std::string> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        fields.back() += line[++i];
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

std::vector<std::string> Groups(std::string_view text) {
  std::vector<std::string> groups;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) groups.emplace_back(text.substr(0, comma));
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return groups;
}

}  // namespace

Result<std::shared_ptr<TokenFileAuthenticator>> TokenFileAuthenticator::FromText(
    std::string_view text) {
  auto authenticator = std::make_shared<TokenFileAuthenticator>();
  int number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::vector<std::string> fields = CsvFields(line);
    if (fields.size() < 3 || fields[0].empty()) {
      return Fail(Code::kInvalid,
                  fmt::format("token file line {}: needs a token, a user and a uid", number));
    }
    User user{.name = fields[1], .uid = fields[2]};
    if (fields.size() > 3) user.groups = Groups(fields[3]);
    authenticator->users_[fields[0]] = std::move(user);
  }
  return authenticator;
}

Result<std::shared_ptr<TokenFileAuthenticator>> TokenFileAuthenticator::FromFile(
    const std::string& path) {
  DRA_ASSIGN(const std::string text, net::ReadFile(path));
  return FromText(text);
}

Result<std::optional<User>> TokenFileAuthenticator::Authenticate(const Credentials& credentials) {
  const auto found = users_.find(credentials.bearer_token);
  if (credentials.bearer_token.empty() || found == users_.end()) return std::nullopt;
  return found->second;
}

Result<std::optional<User>> UnknownTokenAuthenticator::Authenticate(
    const Credentials& credentials) {
  if (credentials.bearer_token.empty()) return std::nullopt;
  return Fail(Code::kUnauthorized, "Unauthorized");
}

}  // namespace drachma::apiserver
