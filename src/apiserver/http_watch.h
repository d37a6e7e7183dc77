#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "apiserver/http_metrics.h"
#include "apiserver/render.h"
#include "apiserver/watch.h"
#include "net/http_server.h"

namespace drachma::apiserver {

// The bytes of recent events in forms other than the stored one (Tables, partial metadata, other
// versions), so that a thousand watchers cost one encoding. Bounded; on the server's executor.
class EventTexts {
 public:
  static constexpr std::size_t kTextsMax = 1024;

  template <typename Make>
  net::SharedBytes Get(const store::RecordPtr& record, const std::string& form, Make make) {
    const std::string key = std::to_string(record->revision) + form + record->key;
    if (const auto found = texts_.find(key); found != texts_.end()) return found->second;
    net::SharedBytes text = net::Share(make());
    order_.push_back(key);
    texts_.emplace(key, text);
    if (order_.size() > kTextsMax) {
      texts_.erase(order_.front());
      order_.pop_front();
    }
    return text;
  }

 private:
  std::list<std::string> order_;
  std::unordered_map<std::string, net::SharedBytes> texts_;
};

// A watch as a stream of JSON lines. Everything but the callbacks of the responder happens on the
// server's executor; it lives until the peer goes or the watch ends.
class HttpWatch final : public WatchSink, public std::enable_shared_from_this<HttpWatch> {
 public:
  HttpWatch(Core& core, EventTexts& texts, KindPtr kind, std::string version, Rendering rendering,
            std::shared_ptr<net::HttpResponder> responder,
            std::unique_ptr<HttpMetrics::OpenWatch> metrics);

  // ERRORS: those of WatchSession::Start; nothing has been answered then.
  [[nodiscard]] Status Start(const client::Request& call, Duration timeout);

  Flow OnEvent(Type type, const store::RecordPtr& record, const json::Value* object) override;
  Flow OnBookmark(store::Revision revision, Bookmark bookmark) override;
  void OnEnd(const std::optional<Error>& error) override;

 private:
  Flow Send(std::vector<net::SharedBytes> parts);
  net::SharedBytes ObjectText(const store::RecordPtr& record, const json::Value* object);
  std::string Encoded(const json::Value& object);
  void Close();

  Core& core_;
  EventTexts& texts_;
  const KindPtr kind_;
  const std::string version_;
  const std::string api_version_;
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
