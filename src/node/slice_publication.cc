#include "node/slice_publication.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <utility>

#include "base/log.h"
#include "client/objects.h"
#include "node/slice_publisher.h"

namespace drachma::node {
namespace {

using json::Value;
namespace resources = client::resources;

constexpr const char* kKey = "slices";  // the queue's only one

std::uint64_t NumberOf(std::string_view version) {
  std::uint64_t number = 0;
  std::from_chars(version.data(), version.data() + version.size(), number);
  return number;
}

}  // namespace

// The writes that bring the server to what was wanted when the round began.
struct SlicePublication::Round {
  std::deque<client::Request> requests;
  client::WorkQueue::Done done;
};

SlicePublication::SlicePublication(std::string node, client::Client& client, DraPlugin& plugin,
                                   std::function<void(const Error&)> on_error)
    : node_(std::move(node)),
      client_(client),
      plugin_(plugin),
      on_error_(std::move(on_error)),
      nodes_(client, {.resource = resources::kNodes,
                      .field_selector = fmt::format("metadata.name={}", node_)}),
      slices_(client, {.resource = resources::kResourceSlices,
                       .field_selector =
                           fmt::format("spec.driver={},spec.nodeName={}", plugin.driver(), node_)}),
      queue_(client.executor(),
             {.backoff_min = kRetryMin, .backoff_max = kRetryMax, .concurrency = 1},
             [this](const std::string&, client::WorkQueue::Done done) { Sync(std::move(done)); }) {
  nodes_.Listen([this](const client::Change& change) {
    if (change.type != client::Change::Type::kUpdated) Refresh();
  });
  slices_.Listen([this](const client::Change& change) {
    const Value& pool = change.object["spec"]["pool"];
    std::int64_t& newest = generations_[std::string(pool["name"].AsString())];
    newest = std::max(newest, pool["generation"].AsInt());
    Refresh();
  });
}

SlicePublication::~SlicePublication() = default;

void SlicePublication::Start() {
  nodes_.Start([this] {
    if (nodes_.Get(node_) == nullptr) {
      Log(LogLevel::kInfo, "node", "{}: waiting for the Node {}", plugin_.driver(), node_);
    }
    Refresh();
  });
  slices_.Start([this] { Refresh(); });
}

void SlicePublication::Refresh() { queue_.Add(kKey); }

std::vector<Pool> SlicePublication::Numbered(std::vector<Pool> pools) const {
  for (Pool& pool : pools) {
    const auto known = generations_.find(pool.name);
    const bool there = std::ranges::any_of(slices_.objects(), [&](const auto& entry) {
      return entry.second["spec"]["pool"]["name"].AsString() == pool.name;
    });
    if (!there && known != generations_.end()) {
      pool.generation = std::max(pool.generation, known->second + 1);
    }
  }
  return pools;
}

void SlicePublication::Sync(client::WorkQueue::Done done) {
  const Value* node = nodes_.synced() ? nodes_.Get(node_) : nullptr;
  if (node == nullptr || !slices_.synced()) return done(client::WorkQueue::Outcome::kDone);
  const Duration since = client_.executor().clock().Monotonic() - written_at_;
  if (NumberOf(slices_.resource_version()) < written_ && since < kLagMax) {
    // The rest of what we wrote is on its way, and with it the next wish.
    queue_.AddAfter(kKey, kLagMax - since);
    return done(client::WorkQueue::Outcome::kDone);
  }
  std::vector<const Value*> existing;
  for (const auto& [key, slice] : slices_.objects()) existing.push_back(&slice);
  // In the order of their names, so that equal servers get equal writes.
  std::ranges::sort(existing, {}, [](const Value* slice) { return client::NameOf(*slice); });
  auto round = std::make_shared<Round>();
  std::ranges::move(PublishRequests(plugin_.driver(), *node, Numbered(plugin_.Pools()), existing),
                    std::back_inserter(round->requests));
  published_ = round->requests.empty();
  if (published_) return done(client::WorkQueue::Outcome::kDone);
  round->done = std::move(done);
  Write(std::move(round));
}

void SlicePublication::Write(std::shared_ptr<Round> round) {
  if (round->requests.empty()) {
    Refresh();  // to see that all is well
    return round->done(client::WorkQueue::Outcome::kDone);
  }
  client::Request request = std::move(round->requests.front());
  round->requests.pop_front();
  client_.Call(std::move(request), [this, round = std::move(round),
                                    alive = std::weak_ptr(alive_)](Result<Value> answer) {
    if (!alive.expired()) OnWritten(round, std::move(answer));
  });
}

void SlicePublication::OnWritten(const std::shared_ptr<Round>& round, Result<Value> answer) {
  if (answer) {
    written_ = std::max(written_, NumberOf(client::ResourceVersionOf(*answer)));
    written_at_ = client_.executor().clock().Monotonic();
    return Write(round);
  }
  // One that was to be deleted and is gone already.
  if (answer.error().code == Code::kNotFound) return Write(round);
  Log(LogLevel::kWarning, "node", "{}: cannot publish devices of {}: {}", plugin_.driver(), node_,
      answer.error().message);
  on_error_(answer.error());
  round->done(client::WorkQueue::Outcome::kRetry);
}

}  // namespace drachma::node
