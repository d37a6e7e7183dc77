#include "faulty_client.h"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

namespace drachma::simulation {
namespace {

constexpr int kLateMsMax = 4000;
// Writes take some time, or two roles that undo each other's would never let the clock go on.
constexpr Duration kWriteTime = std::chrono::milliseconds(1);

bool IsRead(client::Verb verb) {
  return verb == client::Verb::kGet || verb == client::Verb::kList || verb == client::Verb::kWatch;
}

}  // namespace

// Stands between a watch and its handler.
class FaultyWatch final : public client::Watch, public client::WatchHandler {
 public:
  FaultyWatch(Executor& executor, Chaos& chaos, OpenWatches& open, client::WatchHandler& handler)
      : executor_(executor),
        chaos_(chaos),
        open_(open),
        handler_(&handler),
        self_(std::make_shared<FaultyWatch*>(this)) {
    open_.push_back(this);
  }
  ~FaultyWatch() override {
    *self_ = nullptr;
    std::erase(open_, this);
  }

  void Begin(client::Client& inner, client::Request request) {
    if (const std::optional<Error> refusal = chaos_.Refusal(request)) {
      Cut(*refusal);
    } else {
      inner_ = inner.StartWatch(std::move(request), *this);
    }
  }

  // Ends it by a task of its own.
  void Cut(Error error) {
    inner_.reset();
    events_.push_back(Item{.event = {}, .end = std::move(error)});
    Drain(Duration(0));
  }

  void OnEvent(client::WatchEvent event) override {
    const bool initial = event.type == client::WatchEvent::Type::kBookmark;
    const int copies = !initial && chaos_.Happens(&FaultRates::duplicate) ? 2 : 1;
    for (int i = 0; i < copies; ++i) events_.push_back(Item{.event = event, .end = {}});
    const bool late = chaos_.Happens(&FaultRates::lag);
    Drain(late ? chaos_.Milliseconds(1, kLateMsMax) : Duration(0));
    if (chaos_.Happens(&FaultRates::cut)) {
      const bool expired = chaos_.Happens(&FaultRates::expire);
      closing_ = Error{.code = expired ? Code::kExpired : Code::kUnavailable,
                       .message = expired ? "too old resource version" : "connection reset"};
      executor_.Post([self = self_] {
        if (*self != nullptr && (*self)->closing_) (*self)->Cut(*(*self)->closing_);
      });
    }
  }

  void OnClosed(Error error) override {
    events_.push_back(Item{.event = {}, .end = std::move(error)});
    Drain(Duration(0));
  }

 private:
  struct Item {
    client::WatchEvent event;
    std::optional<Error> end;
  };

  void Drain(Duration delay) {
    if (std::exchange(draining_, true)) return;
    executor_.PostAfter(delay, [self = self_] {
      if (*self != nullptr) (*self)->Deliver();
    });
  }

  void Deliver() {
    draining_ = false;
    const auto self = self_;
    while (*self != nullptr && !events_.empty()) {
      Item item = std::move(events_.front());
      events_.pop_front();
      if (item.end) {
        events_.clear();
        handler_->OnClosed(std::move(*item.end));
        return;
      }
      handler_->OnEvent(std::move(item.event));
    }
  }

  Executor& executor_;
  Chaos& chaos_;
  OpenWatches& open_;
  client::WatchHandler* handler_;
  std::shared_ptr<FaultyWatch*> self_;
  std::unique_ptr<client::Watch> inner_;
  std::deque<Item> events_;
  std::optional<Error> closing_;
  bool draining_ = false;
};

FaultyClient::FaultyClient(std::unique_ptr<client::Client> inner, Chaos& chaos, Traffic& traffic,
                           OpenWatches& open)
    : inner_(std::move(inner)),
      chaos_(chaos),
      traffic_(traffic),
      open_(open),
      self_(std::make_shared<FaultyClient*>(this)) {}

FaultyClient::~FaultyClient() { *self_ = nullptr; }

void FaultyClient::Call(client::Request request, client::Callback done) {
  traffic_.OnRequest(request);
  if (std::optional<Error> refusal = chaos_.Refusal(request)) {
    return AnswerAfter(chaos_.Milliseconds(0, 50), std::move(done),
                       std::unexpected(std::move(*refusal)));
  }
  const bool late = chaos_.Happens(&FaultRates::delay);
  if (!late && IsRead(request.verb)) return Send(std::move(request), std::move(done));
  executor().PostAfter(
      late ? chaos_.Milliseconds(1, kLateMsMax) : kWriteTime,
      [self = self_, request = std::move(request), done = std::move(done)]() mutable {
        if (*self != nullptr) (*self)->Send(std::move(request), std::move(done));
      });
}

void FaultyClient::Send(client::Request request, client::Callback done) {
  const bool lost = !IsRead(request.verb) && chaos_.Happens(&FaultRates::lose);
  client::Request sent = request;
  inner_->Call(std::move(request), [this, lost, sent = std::move(sent),
                                    done = std::move(done)](Result<json::Value> answer) mutable {
    traffic_.OnAnswer(sent, answer);
    if (lost) answer = std::unexpected(Chaos::TimedOut());
    if (chaos_.Happens(&FaultRates::delay)) {
      AnswerAfter(chaos_.Milliseconds(1, kLateMsMax), std::move(done), std::move(answer));
    } else {
      done(std::move(answer));
    }
  });
}

void FaultyClient::AnswerAfter(Duration delay, client::Callback done, Result<json::Value> answer) {
  executor().PostAfter(
      delay, [self = self_, done = std::move(done), answer = std::move(answer)]() mutable {
        if (*self != nullptr) done(std::move(answer));
      });
}

std::unique_ptr<client::Watch> FaultyClient::StartWatch(client::Request request,
                                                        client::WatchHandler& handler) {
  auto watch = std::make_unique<FaultyWatch>(executor(), chaos_, open_, handler);
  watch->Begin(*inner_, std::move(request));
  return watch;
}

void CutAll(const OpenWatches& open, const Error& error) {
  for (FaultyWatch* watch : open) watch->Cut(error);
}

}  // namespace drachma::simulation
