#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drachma::net {

// Bytes that several connections may be sending at the same time.
using SharedBytes = std::shared_ptr<const std::string>;
inline SharedBytes Share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

// A part of bytes that are kept as long as it is needed.
class Slice {
 public:
  Slice(SharedBytes bytes) : text_(*bytes), owner_(std::move(bytes)) {}  // NOLINT: implicit
  // At most `size` of the bytes from `from` on.
  Slice(SharedBytes bytes, std::size_t from, std::size_t size = std::string_view::npos)
      : text_(std::string_view(*bytes).substr(from, size)), owner_(std::move(bytes)) {}
  // REQUIRES: `text` lives for ever.
  [[nodiscard]] static Slice OfStatic(std::string_view text) { return Slice(text); }

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] std::size_t size() const { return text_.size(); }

 private:
  explicit Slice(std::string_view text) : text_(text) {}

  std::string_view text_;
  SharedBytes owner_;
};

[[nodiscard]] std::size_t SizeOf(const std::vector<Slice>& parts);

// A piece of a stream in the frame that HTTP/1.1 sends it in, made once for all the streams that it
// is written to.
class Chunk {
 public:
  // Of the parts, one behind the other.
  Chunk(std::initializer_list<std::string_view> parts);

  // The bytes themselves.
  [[nodiscard]] std::size_t size() const { return framed_->size() - begin_ - kEnd.size(); }
  [[nodiscard]] std::string_view text() const {
    return std::string_view(*framed_).substr(begin_, size());
  }
  [[nodiscard]] const SharedBytes& framed() const { return framed_; }

 private:
  static constexpr std::string_view kEnd = "\r\n";

  SharedBytes framed_;
  std::size_t begin_ = 0;  // of the bytes in their frame
};

// Header fields in the order they came. Names compare without case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<std::pair<std::string, std::string>> fields) : fields_(fields) {}

  void Add(std::string name, std::string value) {
    fields_.emplace_back(std::move(name), std::move(value));
  }
  // Replaces all fields of that name.
  void Set(std::string_view name, std::string value);
  // The first value, or empty.
  [[nodiscard]] std::string_view Get(std::string_view name) const;
  [[nodiscard]] bool Has(std::string_view name) const;
  // Every value of `name`.
  [[nodiscard]] std::vector<std::string_view> All(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& fields() const {
    return fields_;
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// Who a verified client certificate says the peer is: Kubernetes reads the common name as the user
// and the organisations as the groups.
struct PeerIdentity {
  std::string common_name;
  std::vector<std::string> organizations;
  std::string fingerprint;  // SHA-256 of the certificate, hex (credential-id of the audit log)
};

// A request whose body has arrived in full.
struct HttpRequest {
  std::string method;
  std::string target;  // as sent: "/api/v1/pods?watch=1"
  Headers headers;
  std::string body;
  // Absent without a client certificate, and when it is not one of the client CA's.
  std::optional<PeerIdentity> identity;
  // Why a certificate that was sent is not accepted; empty otherwise.
  std::string certificate_error;
  std::string peer;  // "127.0.0.1:40312", "unix"
  bool tls = false;

  // The target up to '?', as sent (still escaped); and what follows it.
  [[nodiscard]] std::string_view path() const;
  [[nodiscard]] std::string_view query() const;
};

struct HttpResponse {
  int status = 200;
  Headers headers;          // Content-Length and Date are added
  std::vector<Slice> body;  // sent one after the other
};

// Undoes %XX (and '+' as a space when asked, for query strings). Bad escapes stay as they are.
enum class Plus { kAsIs, kSpace };
[[nodiscard]] std::string PercentDecode(std::string_view text, Plus plus = Plus::kAsIs);
// Escapes all but unreserved characters: for path segments and query values.
[[nodiscard]] std::string PercentEncode(std::string_view text);
// "a=1&b=&a=2" decoded, in order.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> ParseQuery(std::string_view query);
// The standard text of a status code ("Not Found").
[[nodiscard]] std::string_view StatusText(int status);

// Whether Accept-Encoding allows gzip (q=0 forbids).
[[nodiscard]] bool AcceptsGzip(const Headers& headers);
// The gzip form of `parts` joined, made quickly rather than small (level 1, as upstream has it).
[[nodiscard]] std::string Gzip(const std::vector<Slice>& parts);
// Undoes gzip. Empty when `text` is no valid gzip or grows over `bytes_max`.
[[nodiscard]] std::optional<std::string> Gunzip(std::string_view text, std::size_t bytes_max);

}  // namespace drachma::net
