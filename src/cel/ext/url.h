#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drachma::cel {

// A URL as Go's net/url reads it.
struct Url {
  std::string scheme;
  std::string opaque;
  bool has_user = false;
  std::string user;
  bool has_password = false;
  std::string password;
  std::string host;  // "example.com:80"
  std::string path;  // decoded
  std::string raw_path;
  bool omit_host = false;
  bool force_query = false;
  std::string raw_query;
  std::string fragment;
  std::string raw_fragment;

  // url.ParseRequestURI and then url.Parse.
  // ERRORS: Go's texts: parse "x": invalid URI for request.
  [[nodiscard]] static std::expected<Url, std::string> Parse(std::string_view text);
  // Only url.Parse.
  [[nodiscard]] static std::expected<Url, std::string> ParseReference(std::string_view text);
  // Only url.ParseRequestURI.
  [[nodiscard]] static std::expected<Url, std::string> ParseRequest(std::string_view text);

  [[nodiscard]] std::string Hostname() const;
  [[nodiscard]] std::string Port() const;
  [[nodiscard]] std::string EscapedPath() const;
  // Query parameters with their values, in order of first appearance.
  [[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> Query() const;
  [[nodiscard]] std::string ToString() const;
};

}  // namespace drachma::cel
