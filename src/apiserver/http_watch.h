#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apiserver/http_metrics.h"
#include "apiserver/render.h"
#include "apiserver/watch.h"
#include "net/http_server.h"

namespace drachma::apiserver {

// Recent events as they go to watchers, frame and all, so that a thousand of them cost one
// encoding. On the server's executor.
class EventChunks {
 public:
  // The oldest are forgotten beyond either.
  static constexpr std::size_t kChunksMax = 1024;
  static constexpr std::size_t kBytesMax = 8 * 1024 * 1024;

  // The event of a type at a revision in a form ("v1"); made by `make` when it is not known.
  template <typename Make>
  net::Chunk Get(store::Revision revision, WatchSink::Type type, std::string_view form, Make make) {
    for (auto [at, end] = by_revision_.equal_range(revision); at != end; ++at) {
      if (at->second.type == type && at->second.form == form) return at->second.chunk;
    }
    net::Chunk chunk = make();
    bytes_ += chunk.size();
    order_.push_back(by_revision_.emplace(revision, Entry{type, std::string(form), chunk}));
    while (order_.size() > kChunksMax || (bytes_ > kBytesMax && order_.size() > 1)) {
      bytes_ -= order_.front()->second.chunk.size();
      by_revision_.erase(order_.front());
      order_.pop_front();
    }
    return chunk;
  }

 private:
  struct Entry {
    WatchSink::Type type = {};
    std::string form;
    net::Chunk chunk;
  };
  using ByRevision = std::multimap<store::Revision, Entry>;

  ByRevision by_revision_;
  std::deque<ByRevision::iterator> order_;
  std::size_t bytes_ = 0;
};

// A watch as a stream of JSON lines. Everything but the callbacks of the responder happens on the
// server's executor; it lives until the peer goes or the watch ends.
class HttpWatch final : public WatchSink, public std::enable_shared_from_this<HttpWatch> {
 public:
  HttpWatch(Core& core, EventChunks& chunks, KindPtr kind, std::string version, Rendering rendering,
            std::shared_ptr<net::HttpResponder> responder,
            std::unique_ptr<HttpMetrics::OpenWatch> metrics);

  // ERRORS: those of WatchSession::Start; nothing has been answered then.
  [[nodiscard]] Status Start(const client::Request& call, Duration timeout);

  Flow OnEvent(Type type, const store::RecordPtr& record, const json::Value* object) override;
  Flow OnBookmark(store::Revision revision, Bookmark bookmark) override;
  void OnEnd(const std::optional<Error>& error) override;

 private:
  Flow Send(net::Chunk chunk);
  std::string Encoded(const json::Value& object);
  void Close();

  Core& core_;
  EventChunks& chunks_;
  const KindPtr kind_;
  const std::string version_;
  const std::string api_version_;
  const std::string form_;  // which watches of the kind get the same; empty: each its own
  Rendering rendering_;
  std::shared_ptr<net::HttpResponder> responder_;
  const std::unique_ptr<HttpMetrics::OpenWatch> metrics_;
  std::shared_ptr<WatchSession> session_;
  std::shared_ptr<HttpWatch> self_;  // keeps the watch alive while it runs
  bool columns_sent_ = false;
  // The session waits to hear that the peer has taken everything. Most watches never do, and are
  // not told after every event.
  std::atomic<bool> waits_for_drain_ = false;
};

}  // namespace drachma::apiserver
