#include "client/https_client.h"

#include <algorithm>
#include <charconv>
#include <unordered_set>
#include <utility>

#include "client/request_url.h"
#include "client/status_error.h"
#include "json/json.h"
#include "net/certificates.h"
#include "net/http_client.h"

namespace drachma::client {
namespace {

constexpr Duration kRetryAfterMax = std::chrono::seconds(60);

std::string Url(const KubeConfig& config, const Request& request) {
  std::string url = config.server + UrlPath(request);
  if (const std::string query = UrlQuery(request); !query.empty()) url += "?" + query;
  return url;
}

void AddIdentity(const Identity& identity, net::Headers& headers) {
  headers.Add("Impersonate-User", identity.user);
  for (const std::string& group : identity.groups) headers.Add("Impersonate-Group", group);
  for (const auto& [key, values] : identity.extra) {
    for (const std::string& value : values) {
      headers.Add("Impersonate-Extra-" + net::PercentEncode(key), value);
    }
  }
}

// The bearer token of now; the last one that is known when its file cannot be read.
std::string TokenOf(const KubeConfig& config) {
  if (config.token_file.empty()) return config.token;
  Result<std::string> token = net::ReadFile(config.token_file);
  if (!token) return config.token;
  while (token->ends_with('\n')) token->pop_back();
  return *std::move(token);
}

net::Headers HeadersOf(const KubeConfig& config, const std::string& user_agent,
                       const Request& request) {
  net::Headers headers;
  headers.Add("Accept", "application/json");
  headers.Add("User-Agent", user_agent);
  if (const std::string token = TokenOf(config); !token.empty()) {
    headers.Add("Authorization", "Bearer " + token);
  }
  if (request.as != nullptr) {
    AddIdentity(*request.as, headers);
  } else if (!config.impersonate_user.empty()) {
    AddIdentity({.user = config.impersonate_user, .groups = config.impersonate_groups, .extra = {}},
                headers);
  }
  if (!request.body.IsNull()) headers.Add("Content-Type", std::string(ContentType(request)));
  return headers;
}

// How long the server asks to wait before the same request; nothing when it does not.
std::optional<Duration> RetryAfter(const net::ClientResponse& response) {
  if (response.status != 429 && response.status < 500) return std::nullopt;
  const std::string_view text = response.headers.Get("Retry-After");
  int seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end == text.data() || seconds < 0) return std::nullopt;
  return std::min<Duration>(std::chrono::seconds(seconds), kRetryAfterMax);
}

Result<WatchEvent> ReadWatchEvent(const std::string& line) {
  DRA_ASSIGN(json::Value value, json::Read(line));
  const std::string_view type = value["type"].AsString();
  if (type == "ERROR") return std::unexpected(ErrorFromStatus(value["object"], 500));
  WatchEvent event;
  if (type == "ADDED") {
    event.type = WatchEvent::Type::kAdded;
  } else if (type == "MODIFIED") {
    event.type = WatchEvent::Type::kModified;
  } else if (type == "DELETED") {
    event.type = WatchEvent::Type::kDeleted;
  } else if (type == "BOOKMARK") {
    event.type = WatchEvent::Type::kBookmark;
  } else {
    return BadInput("watch event of unknown type \"" + std::string(type) + "\"");
  }
  event.object = std::move(value.Edit("object"));
  return event;
}

class HttpsWatch final : public Watch {
 public:
  HttpsWatch(std::shared_ptr<net::HttpClient> http, Executor& executor, net::ClientRequest request,
             WatchHandler& handler)
      : http_(std::move(http)), handler_(handler) {
    net::StreamCallbacks callbacks;
    const std::weak_ptr<int> alive = alive_;
    callbacks.on_head = [this, alive](net::ClientResponse response) {
      if (alive.expired() || response.status / 100 == 2) return;
      Close(ErrorFromBody(response.body, response.status));
    };
    callbacks.on_line = [this, alive](const std::string& line) {
      if (!alive.expired() && !closed_) OnLine(line);
    };
    callbacks.on_end = [this, alive](const Status& status) {
      if (alive.expired()) return;
      Close(status ? Error{.code = Code::kTimeout} : status.error());
    };
    id_ = http_->Stream(std::move(request), executor, std::move(callbacks));
  }
  ~HttpsWatch() override { http_->Cancel(id_); }

 private:
  void OnLine(const std::string& line) {
    if (line.empty()) return;
    auto event = ReadWatchEvent(line);
    if (event) {
      handler_.OnEvent(*std::move(event));
    } else {
      Close(std::move(event).error());
    }
  }

  void Close(Error error) {
    if (!std::exchange(closed_, true)) handler_.OnClosed(std::move(error));
  }

  std::shared_ptr<net::HttpClient> http_;
  WatchHandler& handler_;
  net::HttpClient::RequestId id_ = 0;
  bool closed_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

class HttpsClient final : public Client {
 public:
  HttpsClient(KubeConfig config, std::shared_ptr<net::HttpClient> http, Executor& executor,
              std::string user_agent)
      : config_(std::move(config)),
        http_(std::move(http)),
        executor_(executor),
        user_agent_(std::move(user_agent)) {}
  ~HttpsClient() override {
    for (const auto id : outstanding_) http_->Cancel(id);
  }

  void Call(Request request, Callback done) override {
    auto exchange = std::make_shared<Exchange>();
    exchange->request.method = HttpMethod(request.verb);
    exchange->request.url = Url(config_, request);
    exchange->request.headers = HeadersOf(config_, user_agent_, request);
    if (!request.body.IsNull()) exchange->request.body = net::Share(json::Write(request.body));
    exchange->done = std::move(done);
    Send(std::move(exchange));
  }

  std::unique_ptr<Watch> StartWatch(Request request, WatchHandler& handler) override {
    request.verb = Verb::kWatch;
    net::ClientRequest http_request;
    http_request.url = Url(config_, request);
    http_request.headers = HeadersOf(config_, user_agent_, request);
    return std::make_unique<HttpsWatch>(http_, executor_, std::move(http_request), handler);
  }

  Executor& executor() override { return executor_; }

 private:
  struct Exchange {
    net::ClientRequest request;
    Callback done;
    net::HttpClient::RequestId id = 0;
    int retries = 0;
  };

  void Send(std::shared_ptr<Exchange> exchange) {
    exchange->id = http_->Send(
        exchange->request, executor_,
        [this, alive = std::weak_ptr(alive_), exchange](Result<net::ClientResponse> response) {
          if (alive.expired()) return;
          outstanding_.erase(exchange->id);
          OnAnswer(exchange, std::move(response));
        });
    outstanding_.insert(exchange->id);
  }

  void OnAnswer(const std::shared_ptr<Exchange>& exchange, Result<net::ClientResponse> response) {
    if (!response) {
      exchange->done(std::unexpected(std::move(response).error()));
      return;
    }
    if (const auto delay = RetryAfter(*response);
        delay && exchange->retries < HttpsClientFactory::kRetriesMax) {
      ++exchange->retries;
      executor_.PostAfter(*delay, [this, alive = std::weak_ptr(alive_), exchange] {
        if (!alive.expired()) Send(exchange);
      });
      return;
    }
    if (response->status / 100 != 2) {
      exchange->done(std::unexpected(ErrorFromBody(response->body, response->status)));
      return;
    }
    if (response->body.empty()) {
      exchange->done(json::Value());
      return;
    }
    exchange->done(json::Read(response->body));
  }

  const KubeConfig config_;
  std::shared_ptr<net::HttpClient> http_;
  Executor& executor_;
  const std::string user_agent_;
  std::unordered_set<net::HttpClient::RequestId> outstanding_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace

HttpsClientFactory::HttpsClientFactory(KubeConfig config, std::shared_ptr<net::HttpClient> http)
    : config_(std::move(config)), http_(std::move(http)) {}
HttpsClientFactory::~HttpsClientFactory() = default;

Result<std::unique_ptr<HttpsClientFactory>> HttpsClientFactory::Make(KubeConfig config) {
  net::ClientOptions options;
  options.ca_pem = config.ca_pem;
  options.certificate_pem = config.certificate_pem;
  options.key_pem = config.key_pem;
  options.server_name = config.tls_server_name;
  options.proxy = config.proxy_url;
  options.requests_max = kConnectionsMax;
  if (config.insecure_skip_tls_verify) options.verify = net::ClientOptions::Verify::kNo;
  DRA_ASSIGN(std::unique_ptr<net::HttpClient> http, net::HttpClient::Make(std::move(options)));
  return std::unique_ptr<HttpsClientFactory>(
      new HttpsClientFactory(std::move(config), std::move(http)));
}

std::unique_ptr<HttpsClientFactory> HttpsClientFactory::WithToken(std::string token) const {
  KubeConfig config = config_;
  config.token = std::move(token);
  config.token_file.clear();
  return std::unique_ptr<HttpsClientFactory>(new HttpsClientFactory(std::move(config), http_));
}

std::unique_ptr<Client> HttpsClientFactory::NewClient(Executor& executor, std::string user_agent) {
  return std::make_unique<HttpsClient>(config_, http_, executor, std::move(user_agent));
}

}  // namespace drachma::client
