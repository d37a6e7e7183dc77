#include "apiserver/http_front.h"

#include <fmt/format.h>

#include <atomic>
#include <thread>
#include <utility>

#include "apiserver/deprecations.h"
#include "apiserver/discovery.h"
#include "apiserver/http_attributes.h"
#include "apiserver/http_exchange.h"
#include "apiserver/http_identity.h"
#include "apiserver/http_metrics.h"
#include "apiserver/http_timeouts.h"
#include "apiserver/http_watch.h"
#include "apiserver/negotiate.h"
#include "apiserver/render.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using net::HttpRequest;
using net::HttpResponder;
using net::HttpResponse;

bool IsHealthPath(std::string_view path) {
  for (const std::string_view prefix : {"/healthz", "/livez", "/readyz"}) {
    if (path == prefix || path.starts_with(fmt::format("{}/", prefix))) return true;
  }
  return false;
}

Result<client::PatchType> PatchTypeOf(const std::string& content_type) {
  using client::PatchType;
  static constexpr std::pair<std::string_view, PatchType> kTypes[] = {
      {"application/json-patch+json", PatchType::kJson},
      {"application/merge-patch+json", PatchType::kMerge},
      {"application/strategic-merge-patch+json", PatchType::kStrategicMerge},
      {"application/apply-patch+yaml", PatchType::kApply},
  };
  for (const auto& [name, type] : kTypes) {
    if (name == content_type) return type;
  }
  return Fail(Code::kUnsupportedMediaType, "415: Unsupported Media Type");
}

IncludeObject IncludeOf(const Query& query) {
  const std::string* include = QueryValue(query, "includeObject");
  if (include != nullptr && *include == "None") return IncludeObject::kNone;
  if (include != nullptr && *include == "Object") return IncludeObject::kObject;
  return IncludeObject::kMetadata;
}

// People's tools get indented text without asking (upstream's isPrettyPrint).
Accepted::Pretty PrettyOf(const HttpRequest& request, const Query& query) {
  if (QueryValue(query, "pretty") != nullptr) {
    return QueryFlag(query, "pretty") ? Accepted::Pretty::kYes : Accepted::Pretty::kNo;
  }
  const std::string_view agent = request.headers.Get("User-Agent");
  for (const std::string_view tool : {"curl", "Wget", "Mozilla/5.0"}) {
    if (agent.starts_with(tool)) return Accepted::Pretty::kYes;
  }
  return Accepted::Pretty::kNo;
}

class Front final : public HttpFront {
 public:
  Front(Core& core, Options options)
      : core_(core),
        options_(std::move(options)),
        discovery_(core, ""),
        timeouts_(core.executor(), options_.limits.request_timeout) {}
  ~Front() override { *alive_ = false; }

  Status Listen() {
    net::ServerOptions server = options_.server;
    server.error_response = [](int status, const std::string& message) {
      Error error = ErrorOf(json::Value::Object({{"code", status}}));
      if (status == 413) {
        error.code = Code::kTooLarge;
        error.message = "Request entity too large: limit is 3145728";
      } else {
        error.message = message;
      }
      // Some of these statuses have no error of their own.
      json::Value told = StatusOf(error);
      told.Set("code", status);
      return JsonResponse(status, json::WritePretty(told, 2) + "\n");
    };
    DRA_ASSIGN(server_, net::HttpServer::Start(
                            std::move(server),
                            [this](HttpRequest request, std::shared_ptr<HttpResponder> responder) {
                              Take(std::move(request), std::move(responder));
                            }));
    return {};
  }

  std::string address() const override {
    const std::vector<std::string> addresses = server_->addresses();
    return addresses.empty() ? std::string() : addresses.front();
  }
  void SetReady(bool ready) override { ready_ = ready; }
  void AddMetrics(std::function<std::string()> source) override {
    metrics_->AddSource(std::move(source));
  }
  void Shutdown(Duration grace) override {
    ready_ = false;
    std::this_thread::sleep_for(options_.limits.shutdown_delay);
    server_->Shutdown(grace);
  }

 private:
  // --- On I/O threads.

  void Take(HttpRequest request, std::shared_ptr<HttpResponder> responder) {
    const std::string_view path = request.path();
    if (IsHealthPath(path)) return responder->Respond(Health(request));
    if (path == "/version" || path == "/version/") {
      return responder->Respond(
          JsonResponse(200, json::WritePretty(Discovery::Version(options_.emulated_minor), 2)));
    }
    const Exchange::Room room = RoomFor(request);
    auto exchange = std::make_shared<Exchange>(std::move(request), std::move(responder), metrics_,
                                               RealClock().Monotonic(), room);
    core_.executor().Post([this, exchange = std::move(exchange), alive = alive_]() mutable {
      if (!*alive) return;
      Serve(exchange);
      if (!exchange->answered()) timeouts_.Await(exchange);
    });
  }

  Exchange::Room RoomFor(const HttpRequest& request) const {
    const Limits& limits = options_.limits;
    const bool mutating = IsMutating(request.method);
    const int most = mutating ? limits.mutating_in_flight_max : limits.requests_in_flight_max;
    const int now = mutating ? metrics_->writes_in_flight : metrics_->reads_in_flight;
    if (most == 0 || now < most) return Exchange::Room::kYes;
    return !mutating && IsWatch(request) ? Exchange::Room::kYes : Exchange::Room::kNo;
  }

  HttpResponse Health(const HttpRequest& request) const {
    const std::string_view path = request.path();
    const std::string name(path.substr(1, path.find('/', 1) - 1));
    const bool ready = ready_ || name != "readyz";
    const Query query = net::ParseQuery(request.query());
    if (ready && QueryValue(query, "verbose") == nullptr) return TextResponse(200, "ok");
    std::string text = "[+]ping ok\n[+]log ok\n[+]store ok\n";
    if (!ready) text += "[-]poststarthook/bootstrap failed: reason withheld\n";
    text += fmt::format("{} check {}\n", name, ready ? "passed" : "failed");
    return TextResponse(ready ? 200 : 500, text);
  }

  // --- On the core's executor.

  void Serve(const ExchangePtr& exchange) {
    BeginAudit(*exchange);
    const RequestPath path = ParsePath(exchange->request().path());
    exchange->labels = LabelsOf(exchange->request(), path, core_);
    Result<User> user =
        IdentifyUser(exchange->request(), options_.authenticators, core_, &exchange->audit.user);
    Decide(*exchange, user ? *user : User());
    if (!user) return exchange->Answer(user.error());
    // Who may do everything always gets an answer, as upstream has it.
    if (exchange->room() == Exchange::Room::kNo && !user->InGroup(kMastersGroup)) {
      return exchange->Terminate(TooManyRequestsResponse());
    }
    if (path.is_resource) return ServeResource(exchange, std::move(*user), path);
    ServePath(exchange, *user);
  }

  void BeginAudit(Exchange& exchange) {
    if (options_.audit == nullptr) return;
    exchange.audit_log = options_.audit;
    exchange.audit = NewAuditEvent(exchange.request(), core_.Now(), core_.random().Uuid());
  }

  // How much of the request is recorded. The body is read before the handlers take it.
  void Decide(Exchange& exchange, const User& user) const {
    if (exchange.audit_log == nullptr) return;
    AuditEvent& event = exchange.audit;
    event.attributes = AttributesOf(exchange.request());
    event.attributes.user = user;
    event.impersonated = !user.name.empty() && user.name != event.user.name;
    event.decision = options_.audit->policy().For(event.attributes);
    if (event.decision.level != AuditLevel::kNone) {
      event.request_object = AuditedBody(exchange.request().body);
    }
  }

  static void Annotate(Exchange& exchange, const char* key, std::string text) {
    if (exchange.audit_log != nullptr) (*exchange.audit.annotations)[key] = std::move(text);
  }

  // Whether the request may be made; the audit log hears why.
  Status Authorize(Exchange& exchange, Attributes attributes) const {
    if (exchange.audit_log != nullptr) {
      attributes.explain = true;
      std::string reason;
      const bool yes = core_.Ask(attributes, reason) == Decision::kAllow;
      Annotate(exchange, "authorization.k8s.io/decision", yes ? "allow" : "forbid");
      Annotate(exchange, "authorization.k8s.io/reason", std::move(reason));
    }
    return core_.Authorize(attributes);
  }

  void ServePath(const ExchangePtr& exchange, const User& user) {
    const HttpRequest& request = exchange->request();
    const std::string path(request.path());
    const Status allowed = Authorize(
        *exchange,
        {.user = user, .verb = LowerCaseMethod(request), .is_resource = false, .path = path});
    if (!allowed) return exchange->Answer(allowed.error());
    if (request.method != "GET" && request.method != "HEAD") {
      return exchange->Answer(MethodNotAllowedError());
    }
    if (path == "/metrics") {
      HttpResponse response = TextResponse(
          200, metrics_->Text(core_.store().Stats(), server_->Stats(), ResourceCounts()));
      response.headers.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
      return exchange->Answer(std::move(response));
    }
    if (path.starts_with("/openapi/")) return ServeOpenApi(exchange, path);
    if (path == "/") return ServeRoot(exchange);
    const auto document = discovery_.At(path, request.headers.Get("Accept"));
    if (!document) return exchange->Answer(NoSuchResourceError());
    ServeDocument(exchange, *document);
  }

  std::vector<ResourceCount> ResourceCounts() const {
    std::vector<ResourceCount> counts;
    for (const KindPtr& kind : core_.kinds().all()) {
      counts.push_back({.group = std::string(kind->group()),
                        .resource = std::string(kind->plural()),
                        .objects = core_.store().Count(kind->ScopeOf(""))});
    }
    return counts;
  }

  void ServeRoot(const ExchangePtr& exchange) {
    json::Value paths = json::Value::Array();
    for (const char* path : {"/api", "/api/v1", "/apis", "/healthz", "/livez", "/metrics",
                             "/openapi/v2", "/openapi/v3", "/readyz", "/version"}) {
      paths.Append(path);
    }
    exchange->Answer(JsonResponse(
        200, json::WritePretty(json::Value::Object({{"paths", std::move(paths)}}), 2)));
  }

  void ServeDocument(const ExchangePtr& exchange, const Discovery::Document& document) {
    const HttpRequest& request = exchange->request();
    HttpResponse response{.headers = {{"ETag", document.etag},
                                      {"Vary", "Accept"},
                                      {"Cache-Control", "public"},
                                      {"Content-Type", document.content_type}}};
    if (request.headers.Get("If-None-Match") == document.etag) {
      response.status = 304;
    } else if (PrettyOf(request, {}) == Accepted::Pretty::kYes &&
               document.content_type == "application/json" && document.body->size() < 65536) {
      const Result<json::Value> value = json::Read(*document.body);
      response.body = {value ? net::Share(json::WritePretty(*value, 2)) : document.body};
    } else {
      response.body = {document.body};
    }
    exchange->Answer(std::move(response));
  }

  void ServeOpenApi(const ExchangePtr& exchange, const std::string& path) {
    constexpr std::string_view kV3 = "/openapi/v3/";
    const HttpRequest& request = exchange->request();
    const Query query = net::ParseQuery(request.query());
    const std::string* wanted = QueryValue(query, "hash");
    if (wanted != nullptr && path.starts_with(kV3)) {
      const std::string present = discovery_.OpenApiHash(path.substr(kV3.size()));
      if (!present.empty() && present != *wanted) {
        return exchange->Answer(HttpResponse{
            .status = 301, .headers = {{"Location", fmt::format("{}?hash={}", path, present)}}});
      }
    }
    const auto document = discovery_.OpenApiAt(path, request.headers.Get("Accept"));
    if (!document) return exchange->Answer(NoSuchResourceError());
    ServeDocument(exchange, *document);
  }

  void ServeResource(const ExchangePtr& exchange, User user, const RequestPath& path) {
    HttpRequest& http = exchange->request();
    const Query query = net::ParseQuery(http.query());
    const Result<std::optional<Duration>> timeout = TimeoutOf(query);
    if (!timeout) return exchange->Answer(timeout.error());
    Result<client::Verb> verb = VerbOf(http, path, query);
    const bool watches = verb && *verb == client::Verb::kWatch;
    if (!watches && !timeouts_.Begin(exchange, *timeout)) return;
    ApiRequest request;
    request.user = std::move(user);
    request.user_agent = http.headers.Get("User-Agent");
    request.call.resource = path.resource;
    request.call.name = path.name;
    request.call.subresource = path.subresource;
    request.call.ns = path.ns;
    const bool is_namespace = path.resource.group.empty() && path.resource.plural == "namespaces";
    if (is_namespace) request.call.ns.clear();
    const Result<KindPtr> kind = core_.KindOf(path.resource);
    if (!kind && Authorize(*exchange, Core::AttributesOf(request))) {
      return AnswerUnknown(exchange, path, kind.error());
    }
    if (!verb) return exchange->Answer(verb.error());
    request.call.verb = *verb;
    AddSelectors(query, request.call);
    if (const Status allowed = Authorize(*exchange, Core::AttributesOf(request)); !allowed) {
      return exchange->Answer(allowed.error());
    }
    if (!kind) return exchange->Answer(kind.error());
    if (auto deprecation =
            DeprecationOf(path.resource.group, path.resource.version, (*kind)->info().kind)) {
      exchange->warnings->push_back(std::move(deprecation->warning));
      Annotate(*exchange, "k8s.io/deprecated", "true");
      if (!deprecation->removed_release.empty()) {
        Annotate(*exchange, "k8s.io/removed-release", std::move(deprecation->removed_release));
      }
    }
    request.error_warnings = exchange->warnings;
    request.annotations = exchange->audit.annotations;
    if (Status read = ReadRequest(http, query, request); !read) {
      // What does not exist takes no patch of any type.
      const bool unknown = read.error().code == Code::kUnsupportedMediaType &&
                           !path.subresource.empty() &&
                           (*kind)->info().FindSubresource(path.subresource) == nullptr;
      if (unknown) return exchange->Answer(NoSuchResourceError());
      // Upstream's router refuses such patches before anybody can warn.
      if (*verb == client::Verb::kPatch && read.error().code == Code::kUnsupportedMediaType) {
        exchange->warnings->clear();
      }
      return exchange->Answer(read.error());
    }
    const bool streams = watches || *verb == client::Verb::kList;
    Result<Accepted> accepted = Negotiate(http.headers.Get("Accept"), Transforms::kYes,
                                          streams ? Streams::kYes : Streams::kNo);
    if (!accepted) {
      return exchange->Answer(OfRouter(*exchange, std::move(accepted.error())));
    }
    if (accepted->media == Accepted::Media::kJson) accepted->pretty = PrettyOf(http, query);
    const Rendering rendering{.accepted = std::move(*accepted),
                              .include = IncludeOf(query),
                              .now = core_.Now(),
                              .rows = rows_};
    if (*verb == client::Verb::kWatch) {
      return Watch(exchange, std::move(request), *kind, rendering);
    }
    core_.Dispatch(std::move(request), *kind, [exchange, rendering](Result<Answer> answer) {
      if (!answer) answer.error() = OfRouter(*exchange, std::move(answer.error()));
      AnswerExchange(*exchange, std::move(answer), rendering);
    });
  }

  // What upstream's router refuses itself, before any handler, has no warning of an old version.
  static Error OfRouter(const Exchange& exchange, Error error) {
    const bool forms =
        error.code == Code::kNotAcceptable && error.message.contains("Available representations");
    if (forms || error.code == Code::kMethodNotAllowed ||
        error.message == NoSuchResourceError().message) {
      exchange.warnings->clear();
    }
    return error;
  }

  // Groups that nobody serves are no part of the API at all: upstream's router answers them with
  // plain text.
  void AnswerUnknown(const ExchangePtr& exchange, const RequestPath& path, const Error& error) {
    if (path.resource.group.empty() || discovery_.At("/apis/" + path.resource.group, "")) {
      return exchange->Answer(error);
    }
    exchange->Answer(TextResponse(404, "404 page not found\n"));
  }

  static Status ReadRequest(HttpRequest& http, const Query& query, ApiRequest& request) {
    request.content_type = MediaTypeOf(http.headers.Get("Content-Type"));
    request.raw_body = std::move(http.body);
    if (request.call.verb == client::Verb::kPatch) {
      DRA_ASSIGN(request.call.patch, PatchTypeOf(request.content_type));
    }
    return ReadOptions(query, request);
  }

  static void AnswerExchange(Exchange& exchange, Result<Answer> answer,
                             const Rendering& rendering) {
    if (!answer) return exchange.Answer(answer.error());
    if (answer->text) {
      return exchange.Answer({.status = answer->code,
                              .headers = {{"Content-Type", "text/plain"}},
                              .body = {net::Share(*std::move(answer->text))}},
                             answer->warnings);
    }
    Result<std::vector<net::Slice>> body = Render(*answer, rendering);
    if (!body) return exchange.Answer(body.error());
    HttpResponse response{
        .status = answer->code,
        .headers = {{"Cache-Control", "no-cache, private"},
                    {"Content-Type", std::string(ContentTypeOf(rendering.accepted))}},
        .body = std::move(*body)};
    exchange.Answer(std::move(response), answer->warnings);
  }

  void Watch(const ExchangePtr& exchange, ApiRequest request, const KindPtr& kind,
             const Rendering& rendering) {
    Duration timeout = std::chrono::seconds(request.call.timeout_seconds);
    if (timeout <= Duration::zero()) {
      timeout = options_.limits.watch_duration_min;
      const auto spread = static_cast<std::uint64_t>(timeout.count());
      timeout += Duration(static_cast<std::int64_t>(core_.random().Below(spread)));
    }
    auto watch =
        std::make_shared<HttpWatch>(core_, chunks_, kind, request.resource().version, rendering,
                                    exchange->responder(), metrics_->BeginWatch(exchange->labels));
    const Status started = watch->Start(request.call, timeout);
    if (!started) return exchange->Answer(started.error());
    metrics_->Count(exchange->labels, 200, 0);
    HttpResponse head;
    exchange->Record("ResponseStarted", head);
    (void)exchange->TakeResponder();
  }

  Core& core_;
  const Options options_;
  Discovery discovery_;
  EventChunks chunks_;
  // Requests under way may outlive the front.
  const std::shared_ptr<TableRows> rows_ = std::make_shared<TableRows>();
  const std::shared_ptr<HttpMetrics> metrics_ = std::make_shared<HttpMetrics>();
  RequestTimeouts timeouts_;
  std::atomic<bool> ready_ = true;
  // Only read and written on the core's executor, or after it has stopped.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

Result<std::unique_ptr<HttpFront>> HttpFront::Start(Core& core, Options options) {
  auto front = std::make_unique<Front>(core, std::move(options));
  DRA_TRY(front->Listen());
  return front;
}

}  // namespace drachma::apiserver
