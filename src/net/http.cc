#include "net/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace drachma::net {

std::size_t SizeOf(const std::vector<Slice>& parts) {
  std::size_t size = 0;
  for (const Slice& part : parts) size += part.size();
  return size;
}

Chunk::Chunk(std::initializer_list<std::string_view> parts) {
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  std::string framed = fmt::format("{:x}\r\n", size);
  begin_ = framed.size();
  framed.reserve(begin_ + size + kEnd.size());
  for (const std::string_view part : parts) framed += part;
  framed += kEnd;
  framed_ = Share(std::move(framed));
}
namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, Lower, Lower);
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool IsUnreserved(char c) {
  return (c >= '0' && c <= '9') || (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '-' || c == '_' ||
         c == '.' || c == '~';
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits off what comes before `separator`.
std::string_view Cut(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  return part;
}

struct StatusEntry {
  int status;
  std::string_view text;
};
constexpr std::array kStatusTexts = {
    StatusEntry{100, "Continue"},
    StatusEntry{101, "Switching Protocols"},
    StatusEntry{200, "OK"},
    StatusEntry{201, "Created"},
    StatusEntry{202, "Accepted"},
    StatusEntry{204, "No Content"},
    StatusEntry{206, "Partial Content"},
    StatusEntry{301, "Moved Permanently"},
    StatusEntry{302, "Found"},
    StatusEntry{304, "Not Modified"},
    StatusEntry{307, "Temporary Redirect"},
    StatusEntry{308, "Permanent Redirect"},
    StatusEntry{400, "Bad Request"},
    StatusEntry{401, "Unauthorized"},
    StatusEntry{403, "Forbidden"},
    StatusEntry{404, "Not Found"},
    StatusEntry{405, "Method Not Allowed"},
    StatusEntry{406, "Not Acceptable"},
    StatusEntry{408, "Request Timeout"},
    StatusEntry{409, "Conflict"},
    StatusEntry{410, "Gone"},
    StatusEntry{411, "Length Required"},
    StatusEntry{412, "Precondition Failed"},
    StatusEntry{413, "Request Entity Too Large"},
    StatusEntry{414, "Request URI Too Long"},
    StatusEntry{415, "Unsupported Media Type"},
    StatusEntry{417, "Expectation Failed"},
    StatusEntry{422, "Unprocessable Entity"},
    StatusEntry{429, "Too Many Requests"},
    StatusEntry{431, "Request Header Fields Too Large"},
    StatusEntry{500, "Internal Server Error"},
    StatusEntry{501, "Not Implemented"},
    StatusEntry{502, "Bad Gateway"},
    StatusEntry{503, "Service Unavailable"},
    StatusEntry{504, "Gateway Timeout"},
    StatusEntry{507, "Insufficient Storage"},
};

}  // namespace

void Headers::Set(std::string_view name, std::string value) {
  std::erase_if(fields_, [name](const auto& field) { return SameName(field.first, name); });
  fields_.emplace_back(std::string(name), std::move(value));
}

std::string_view Headers::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_) {
    if (SameName(key, name)) return value;
  }
  return {};
}

bool Headers::Has(std::string_view name) const {
  return std::ranges::any_of(fields_,
                             [name](const auto& field) { return SameName(field.first, name); });
}

std::vector<std::string_view> Headers::All(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_) {
    if (SameName(key, name)) values.push_back(value);
  }
  return values;
}

std::string_view HttpRequest::path() const {
  return std::string_view(target).substr(0, target.find('?'));
}

std::string_view HttpRequest::query() const {
  const std::size_t at = target.find('?');
  return at == std::string::npos ? std::string_view() : std::string_view(target).substr(at + 1);
}

std::string PercentDecode(std::string_view text, Plus plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i] == '+' && plus == Plus::kSpace ? ' ' : text[i];
    }
  }
  return decoded;
}

std::string PercentEncode(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> fields;
  while (!query.empty()) {
    std::string_view value = Cut(query, '&');
    if (value.empty()) continue;
    const std::string_view key = Cut(value, '=');
    fields.emplace_back(PercentDecode(key, Plus::kSpace), PercentDecode(value, Plus::kSpace));
  }
  return fields;
}

std::string_view StatusText(int status) {
  const auto found = std::ranges::find(kStatusTexts, status, &StatusEntry::status);
  return found == kStatusTexts.end() ? "Unknown" : found->text;
}

bool AcceptsGzip(const Headers& headers) {
  for (std::string_view value : headers.All("Accept-Encoding")) {
    while (!value.empty()) {
      std::string_view parameters = Cut(value, ',');
      const std::string_view coding = Trim(Cut(parameters, ';'));
      if (!SameName(coding, "gzip") && coding != "*") continue;
      double quality = 1;
      while (!parameters.empty()) {
        std::string_view weight = Trim(Cut(parameters, ';'));
        if (!SameName(Trim(Cut(weight, '=')), "q")) continue;
        weight = Trim(weight);
        std::from_chars(weight.data(), weight.data() + weight.size(), quality);
      }
      return quality > 0;
    }
  }
  return false;
}

}  // namespace drachma::net
