#include "webhook/server.h"

#include <future>
#include <utility>

#include "base/log.h"
#include "json/json.h"

namespace drachma::webhook {
namespace {

constexpr Duration kGrace = std::chrono::seconds(5);

void RespondText(net::HttpResponder& responder, int status, std::string text) {
  responder.Respond({.status = status,
                     .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                     .body = {net::Share(std::move(text))}});
}

void RespondReview(net::HttpResponder& responder, const Review& review, const Status& verdict) {
  if (!verdict) {
    Log(LogLevel::kInfo, "webhook", "{} {} {}: denied: {}", review.operation, review.kind,
        review.object["metadata"]["name"].AsString(), verdict.error().message);
  }
  responder.Respond({.headers = {{"Content-Type", "application/json"}},
                     .body = {net::Share(json::Write(MakeAnswer(review, verdict)))}});
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Start(Options options, client::ClientFactory* factory) {
  std::unique_ptr<Server> server(new Server(std::move(options.gates)));
  if (factory != nullptr) server->StartLedger(std::move(options.ledger), *factory);
  net::ServerOptions http{
      .listen = {std::move(options.listen)},
      .tls = std::make_shared<const net::TlsServerOptions>(std::move(options.tls))};
  DRA_ASSIGN(
      server->http_,
      net::HttpServer::Start(std::move(http), [raw = server.get()](const net::HttpRequest& request,
                                                                   const Responder& responder) {
        raw->Handle(request, responder);
      }));
  return server;
}

void Server::StartLedger(LedgerRole::Options options, client::ClientFactory& factory) {
  executor_ = std::make_unique<ThreadExecutor>("ledger");
  std::promise<void> started;
  executor_->Post([&] {
    client_ = factory.NewClient(*executor_, "drachma-webhook");
    ledger_ = std::make_unique<LedgerRole>(*client_, std::move(options));
    ledger_->Start();
    started.set_value();
  });
  started.get_future().get();
}

Server::~Server() {
  if (http_) http_->Shutdown(kGrace);
  if (!executor_) return;
  std::promise<void> ended;
  executor_->Post([&] {
    ledger_.reset();
    client_.reset();
    ended.set_value();
  });
  ended.get_future().get();
}

bool Server::Ready() {
  if (!executor_) return true;
  std::promise<bool> ready;
  executor_->Post([&] { ready.set_value(ledger_->ready()); });
  return ready.get_future().get();
}

void Server::Handle(const net::HttpRequest& request, const Responder& responder) {
  const std::string_view path = request.path();
  if (path == "/livez" || path == "/healthz") return RespondText(*responder, 200, "ok");
  if (path == "/readyz") return HandleReady(responder);
  if (path != kParametersPath && !(path == kLedgerPath && executor_)) {
    return RespondText(*responder, 404, "404 page not found\n");
  }
  if (request.method != "POST") return RespondText(*responder, 405, "want POST\n");
  HandleReview(request, responder);
}

void Server::HandleReady(const Responder& responder) {
  if (!executor_) return RespondText(*responder, 200, "ok");
  executor_->Post([this, responder] {
    const bool ready = ledger_ && ledger_->ready();
    RespondText(*responder, ready ? 200 : 503, ready ? "ok" : "the ledger does not judge yet\n");
  });
}

void Server::HandleReview(const net::HttpRequest& request, const Responder& responder) {
  Result<Review> review = ReadReview(request.body);
  if (!review) return RespondText(*responder, 400, review.error().message + "\n");
  if (request.path() == kParametersPath) {
    const Status verdict = review->object.IsNull()
                               ? Status()
                               : validation::CheckGpuConfigs(review->kind, review->object, gates_);
    return RespondReview(*responder, *review, verdict);
  }
  executor_->Post([this, responder, review = *std::move(review)]() mutable {
    if (!ledger_) return;  // ending
    const auto done = [responder, answered = review](const Status& verdict) {
      // No verdict: whether the write goes on is for the failurePolicy to say.
      if (!verdict && verdict.error().code == Code::kUnavailable) {
        return RespondText(*responder, 503, verdict.error().message);
      }
      RespondReview(*responder, answered, verdict);
    };
    ledger_->Judge(std::move(review), done);
  });
}

}  // namespace drachma::webhook
