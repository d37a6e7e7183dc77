#include "net/curl_transfer.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

namespace drachma::net {
namespace {

void Post(Transfer& transfer, std::move_only_function<void(Delivery&)> task) {
  transfer.executor->Post([delivery = transfer.delivery, task = std::move(task)]() mutable {
    if (!delivery->cancelled) task(*delivery);
  });
}

// Tells the head of a stream whose lines follow.
void TellHead(Transfer& transfer) {
  if (std::exchange(transfer.head_told, true)) return;
  Post(transfer, [response = transfer.response](Delivery& delivery) mutable {
    if (delivery.callbacks.on_head) delivery.callbacks.on_head(std::move(response));
  });
}

// Posts the full lines of `bytes`; keeps the rest for the next call. False when a line is too long.
bool TellLines(Transfer& transfer, std::string_view bytes) {
  std::vector<std::string> lines;
  std::size_t size = 0;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    transfer.line += bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
    if (!transfer.line.empty() && transfer.line.back() == '\r') transfer.line.pop_back();
    size += transfer.line.size();
    lines.push_back(std::exchange(transfer.line, {}));
  }
  transfer.line += bytes;
  if (transfer.line.size() > transfer.options->line_bytes_max) return false;
  if (lines.empty()) return true;
  transfer.delivery->backlog_bytes += size;
  Post(transfer, [lines = std::move(lines), size](Delivery& delivery) mutable {
    for (std::string& line : lines) {
      if (delivery.cancelled) return;  // a line's reader may have given up
      if (delivery.callbacks.on_line) delivery.callbacks.on_line(std::move(line));
    }
    delivery.backlog_bytes -= size;
  });
  return true;
}

std::size_t OnHeader(char* text, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  std::string_view line(text, size);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {
    // Also the heads of "100 Continue" and of a proxy come here: the last one counts.
    transfer.response.headers = {};
    transfer.response.status = 0;
    line.remove_prefix(std::min(line.find(' '), line.size() - 1) + 1);
    std::from_chars(line.data(), line.data() + line.size(), transfer.response.status);
  } else if (line.empty()) {
    if (transfer.TellsLines()) TellHead(transfer);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) {
      value.remove_prefix(1);
    }
    transfer.response.headers.Add(std::string(line.substr(0, colon)), std::string(value));
  }
  return size;
}

std::size_t OnBody(char* text, std::size_t, std::size_t size, void* user) {
  auto& transfer = *static_cast<Transfer*>(user);
  if (transfer.TellsLines()) {
    if (transfer.delivery->backlog_bytes > transfer.options->backlog_bytes_max) {
      transfer.paused = true;
      return CURL_WRITEFUNC_PAUSE;
    }
    transfer.too_large = !TellLines(transfer, {text, size});
  } else {
    transfer.too_large =
        transfer.response.body.size() + size > transfer.options->response_bytes_max;
    if (!transfer.too_large) transfer.response.body.append(text, size);
  }
  return transfer.too_large ? 0 : size;
}

Error ToError(const Transfer& transfer, CURLcode code) {
  const std::string what =
      transfer.error_text[0] != '\0' ? transfer.error_text : curl_easy_strerror(code);
  const std::string text = transfer.request.method + " " + transfer.request.url + ": " + what;
  if (transfer.too_large) {
    return {.code = Code::kTooLarge,
            .message = transfer.request.method + " " + transfer.request.url +
                       ": the response is too large"};
  }
  if (transfer.timed_out) {
    return {
        .code = Code::kTimeout,
        .message = transfer.request.method + " " + transfer.request.url + ": no response in time"};
  }
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
      return {.code = Code::kTimeout, .message = text};
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return {.code = Code::kBadRequest, .message = text};
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CONNECT_ERROR:
      return {.code = Code::kUnauthorized, .message = text};
    default:
      return {.code = Code::kUnavailable, .message = text};
  }
}

// "https://host:port/path" with another host, and curl's rule to connect to the old one.
struct Renamed {
  std::string url;
  std::string connect_to;
  std::string host;  // for the Host field
};
Renamed Rename(const std::string& url, const std::string& server_name) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos) return {.url = url};
  const std::size_t begin = scheme + 3;
  const std::size_t end = std::min(url.find_first_of("/?#", begin), url.size());
  const std::string authority = url.substr(begin, end - begin);
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string::npos && authority.find(']', colon) == std::string::npos;
  const std::string host = has_port ? authority.substr(0, colon) : authority;
  const std::string port = has_port ? authority.substr(colon) : "";
  return {.url = url.substr(0, begin) + server_name + port + url.substr(end),
          .connect_to = "::" + host + ":",
          .host = authority};
}

void SetBlob(CURL* easy, CURLoption option, const std::string& text) {
  // Not copied by curl: the options outlive every transfer.
  curl_blob blob{
      .data = const_cast<char*>(text.data()), .len = text.size(), .flags = CURL_BLOB_NOCOPY};
  curl_easy_setopt(easy, option, &blob);
}

void SetTls(CURL* easy, const ClientOptions& options) {
  if (!options.ca_pem.empty()) SetBlob(easy, CURLOPT_CAINFO_BLOB, options.ca_pem);
  if (!options.certificate_pem.empty()) {
    curl_easy_setopt(easy, CURLOPT_SSLCERTTYPE, "PEM");
    curl_easy_setopt(easy, CURLOPT_SSLKEYTYPE, "PEM");
    SetBlob(easy, CURLOPT_SSLCERT_BLOB, options.certificate_pem);
    SetBlob(easy, CURLOPT_SSLKEY_BLOB, options.key_pem);
  }
  if (options.verify == ClientOptions::Verify::kNo) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  curl_easy_setopt(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
}

void SetBody(CURL* easy, const ClientRequest& request) {
  if (request.method == "HEAD") curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  if (request.body == nullptr) return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                   static_cast<curl_off_t>(request.body->size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body->data());
}

void SetFields(Transfer& transfer, const std::string& host) {
  const auto add = [&](const std::string& line) {
    transfer.fields.reset(curl_slist_append(transfer.fields.release(), line.c_str()));
  };
  for (const auto& [name, value] : transfer.request.headers.fields()) {
    add(value.empty() ? name + ";" : name + ": " + value);
  }
  // curl would wait for "100 Continue" before larger bodies, and say that they are forms.
  add("Expect:");
  if (!transfer.request.headers.Has("Content-Type")) add("Content-Type:");
  if (!host.empty() && !transfer.request.headers.Has("Host")) add("Host: " + host);
  curl_easy_setopt(transfer.easy.get(), CURLOPT_HTTPHEADER, transfer.fields.get());
}

}  // namespace

void TellEnd(Transfer& transfer, CURLcode code) {
  if (!transfer.is_stream) {
    Result<ClientResponse> result;
    if (code == CURLE_OK) {
      result = std::move(transfer.response);
    } else {
      result = std::unexpected(ToError(transfer, code));
    }
    Post(transfer, [result = std::move(result)](Delivery& delivery) mutable {
      delivery.done(std::move(result));
    });
    return;
  }
  Status status;
  if (code != CURLE_OK) {
    status = std::unexpected(ToError(transfer, code));
  } else {
    // A last line without its end, or the body of an answer that is not 2xx.
    if (!transfer.line.empty()) TellLines(transfer, "\n");
    TellHead(transfer);
  }
  Post(transfer, [status = std::move(status)](Delivery& delivery) mutable {
    if (delivery.callbacks.on_end) delivery.callbacks.on_end(std::move(status));
  });
}

long Milliseconds(Duration duration) {
  return static_cast<long>(
      std::chrono::ceil<std::chrono::milliseconds>(std::max(duration, Duration(0))).count());
}

void PrepareTransfer(Transfer& transfer, const ClientOptions& options) {
  transfer.options = &options;
  transfer.easy.reset(curl_easy_init());
  CURL* easy = transfer.easy.get();
  Renamed target{.url = transfer.request.url};
  if (!options.server_name.empty()) target = Rename(transfer.request.url, options.server_name);
  if (!target.connect_to.empty()) {
    transfer.connect_to.reset(curl_slist_append(nullptr, target.connect_to.c_str()));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, transfer.connect_to.get());
  }
  curl_easy_setopt(easy, CURLOPT_URL, target.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, transfer.is_stream ? nullptr : "gzip");
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, 30L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, Milliseconds(options.connect_timeout));
  curl_easy_setopt(easy, CURLOPT_PROXY, options.proxy.c_str());  // empty: not the environment's
  if (!options.unix_socket.empty()) {
    curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, options.unix_socket.c_str());
  }
  if (transfer.request.timeout > Duration::zero()) {
    if (transfer.is_stream) {
      transfer.head_deadline = RealClock().Monotonic() + transfer.request.timeout;
    } else {
      curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, Milliseconds(transfer.request.timeout));
    }
  }
  SetTls(easy, options);
  SetBody(easy, transfer.request);
  SetFields(transfer, target.host);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer.error_text);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &transfer);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, &transfer);
}

}  // namespace drachma::net
