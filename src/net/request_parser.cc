#include "net/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

namespace drachma::net {

namespace http = boost::beast::http;
using boost::beast::error_code;

// The shortest end of a chunked body. Boost's parser asserts that it is not shown less after the
// last chunk's line, and nothing complete can be shorter.
constexpr std::size_t kChunkedEndBytes = std::string_view("0\r\n\r\n").size();

// Keeps what Boost's parser finds.
class RequestParser::Parser final : public http::basic_parser<true> {
 public:
  [[nodiscard]] HttpRequest& request() { return request_; }
  [[nodiscard]] int hosts() const { return hosts_; }
  [[nodiscard]] bool expects_continue() const { return expects_continue_; }
  [[nodiscard]] bool is_http11() const { return is_http11_; }
  [[nodiscard]] bool has_transfer_encoding() const { return has_transfer_encoding_; }

 private:
  using Text = boost::beast::string_view;

  static std::string ToString(Text text) { return {text.data(), text.size()}; }

  void on_request_impl(http::verb, Text method, Text target, int version, error_code&) override {
    request_.method = ToString(method);
    request_.target = ToString(target);
    is_http11_ = version >= 11;
  }
  void on_response_impl(int, Text, int, error_code&) override {}
  void on_field_impl(http::field field, Text name, Text value, error_code&) override {
    if (is_header_done()) return;  // a trailer: nothing that is checked may come that late
    if (field == http::field::host) ++hosts_;
    if (field == http::field::transfer_encoding) has_transfer_encoding_ = true;
    if (field == http::field::expect) {
      expects_continue_ = boost::beast::iequals(value, "100-continue");
    }
    request_.headers.Add(ToString(name), ToString(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(Text body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, Text, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  HttpRequest request_;
  int hosts_ = 0;
  bool expects_continue_ = false;
  bool is_http11_ = false;
  bool has_transfer_encoding_ = false;
};

RequestParser::RequestParser(const ServerLimits& limits)
    : parser_(std::make_unique<Parser>()), body_bytes_max_(limits.body_bytes_max) {
  parser_->eager(true);
  parser_->header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
  parser_->body_limit(limits.body_bytes_max);
}

RequestParser::~RequestParser() = default;

RequestParser::Step RequestParser::Feed(std::string_view bytes, std::size_t& consumed) {
  const auto refuse = [this](int status, std::string message) {
    status_ = status;
    message_ = std::move(message);
    return Step::kRefused;
  };
  error_code error;
  const bool had_header = parser_->is_header_done();
  if (had_header && parser_->chunked() && bytes.size() < kChunkedEndBytes) {
    consumed = 0;
    return Step::kNeedMore;
  }
  consumed = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::header_limit) {
    return refuse(431, "the request's header is too large");
  }
  if (error == http::error::body_limit) {
    return refuse(413, "Request entity too large: limit is " + std::to_string(body_bytes_max_));
  }
  if (error && error != http::error::need_more) {
    return refuse(400, "malformed HTTP request: " + error.message());
  }
  if (!had_header && parser_->is_header_done()) {
    if (parser_->hosts() > 1 || (parser_->hosts() == 0 && parser_->is_http11())) {
      return refuse(
          400, parser_->hosts() == 0 ? "missing required Host header" : "too many Host headers");
    }
    if (parser_->has_transfer_encoding() && !parser_->chunked()) {
      return refuse(501, "unsupported transfer encoding");
    }
  }
  return parser_->is_done() ? Step::kComplete : Step::kNeedMore;
}

bool RequestParser::header_done() const { return parser_->is_header_done(); }
bool RequestParser::expects_continue() const { return parser_->expects_continue(); }
bool RequestParser::keep_alive() const { return parser_->keep_alive(); }
bool RequestParser::is_http11() const { return parser_->is_http11(); }
HttpRequest RequestParser::Take() { return std::move(parser_->request()); }

}  // namespace drachma::net
