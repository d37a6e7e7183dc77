#include "apiserver/http_watch.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/http_front.h"
#include "apiserver/objects.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {

using As = Accepted::As;

namespace {

std::string FormOf(const Accepted& accepted, const std::string& api_version) {
  switch (accepted.as) {
    case As::kTable:
      return {};  // ages differ from second to second, and the first one has columns
    case As::kPartialMetadata:
      return "metadata/" + accepted.meta_version;
    case As::kObject:
      break;
  }
  return api_version;
}

net::Chunk LineOf(std::string_view type, json::Value object) {
  return {json::Write(json::Value::Object({{"type", type}, {"object", std::move(object)}})), "\n"};
}

}  // namespace

HttpWatch::HttpWatch(Core& core, EventChunks& chunks, KindPtr kind, std::string version,
                     Rendering rendering, std::shared_ptr<net::HttpResponder> responder,
                     std::unique_ptr<HttpMetrics::OpenWatch> metrics)
    : core_(core),
      chunks_(chunks),
      kind_(std::move(kind)),
      version_(std::move(version)),
      api_version_(kind_->ApiVersion(version_)),
      form_(FormOf(rendering.accepted, api_version_)),
      rendering_(std::move(rendering)),
      responder_(std::move(responder)),
      metrics_(std::move(metrics)) {}

Status HttpWatch::Start(const client::Request& call, Duration timeout) {
  DRA_ASSIGN(session_, WatchSession::Start(core_, call, *kind_, timeout, *this));
  self_ = shared_from_this();
  responder_->StartStream(
      200, {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}});
  Executor& executor = core_.executor();
  responder_->OnDrained([&executor, weak = weak_from_this()] {
    if (const auto self = weak.lock(); self == nullptr || !self->waits_for_drain_.exchange(false)) {
      return;
    }
    executor.Post([weak] {
      const auto self = weak.lock();
      if (self != nullptr && self->session_ != nullptr) self->session_->Resume();
    });
  });
  responder_->OnClose([&executor, weak = weak_from_this()] {
    executor.Post([weak] {
      if (const auto self = weak.lock()) self->Close();
    });
  });
  return {};
}

void HttpWatch::Close() {
  const auto self = std::move(self_);
  if (session_ != nullptr) session_->Stop();
  session_.reset();
  if (responder_ != nullptr) responder_->Finish();
  responder_.reset();
}

WatchSink::Flow HttpWatch::Send(net::Chunk chunk) {
  if (!responder_->Write(std::move(chunk))) {
    // Not from within the session's call: it is still on the stack.
    core_.executor().Post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Close();
    });
    return Flow::kStop;
  }
  if (responder_->QueuedBytes() <= HttpFront::kWatchQueueBytes) return Flow::kMore;
  waits_for_drain_ = true;
  // It may have been drained just before.
  if (responder_->QueuedBytes() > 0) return Flow::kWait;
  waits_for_drain_ = false;
  return Flow::kMore;
}

std::string HttpWatch::Encoded(const json::Value& object) {
  switch (rendering_.accepted.as) {
    case As::kTable: {
      rendering_.now = core_.Now();
      std::vector<json::Value> rows = {RowOf(*kind_, version_, object, rendering_)};
      json::Value meta = json::Value::Object(
          {{"resourceVersion", object["metadata"]["resourceVersion"].AsString()}});
      const Columns columns = columns_sent_ ? Columns::kNo : Columns::kYes;
      columns_sent_ = true;
      return json::Write(TableOf(*kind_, version_, std::move(rows), std::move(meta),
                                 rendering_.accepted.meta_version, columns));
    }
    case As::kPartialMetadata:
      return json::Write(PartialMetadataOf(object, rendering_.accepted.meta_version));
    case As::kObject:
      break;
  }
  return json::Write(kind_->Convert(object, api_version_).value_or(object));
}

WatchSink::Flow HttpWatch::OnEvent(Type type, const store::RecordPtr& record,
                                   const json::Value* object) {
  static constexpr std::string_view kBegins[] = {
      R"({"type":"ADDED","object":)",
      R"({"type":"MODIFIED","object":)",
      R"({"type":"DELETED","object":)",
  };
  metrics_->CountEvent();
  const auto chunk = [&](std::string_view text) {
    return net::Chunk{kBegins[static_cast<std::size_t>(type)], text, "}\n"};
  };
  if (object != nullptr) return Send(chunk(Encoded(*object)));
  if (form_.empty()) return Send(chunk(Encoded(record->Object())));
  return Send(chunks_.Get(record->revision, type, form_, [&] {
    const bool stored = form_ == kind_->storage_api_version();
    return chunk(stored ? *record->Json() : Encoded(record->Object()));
  }));
}

WatchSink::Flow HttpWatch::OnBookmark(store::Revision revision, Bookmark bookmark) {
  const InitialEventsEnd initial =
      bookmark == Bookmark::kInitialEventsEnd ? InitialEventsEnd::kYes : InitialEventsEnd::kNo;
  json::Value object;
  const std::string meta = "meta.k8s.io/" + rendering_.accepted.meta_version;
  switch (rendering_.accepted.as) {
    case As::kObject:
      object = BookmarkOf(kind_->info().kind, api_version_, revision, initial);
      break;
    case As::kPartialMetadata:
      object = BookmarkOf("PartialObjectMetadata", meta, revision, initial);
      break;
    case As::kTable: {
      const json::Value marked = BookmarkOf(kind_->info().kind, api_version_, revision, initial);
      std::vector<json::Value> rows = {RowOf(*kind_, version_, marked, rendering_)};
      object = TableOf(*kind_, version_, std::move(rows),
                       json::Value::Object({{"resourceVersion", std::to_string(revision)}}),
                       rendering_.accepted.meta_version, Columns::kNo);
      break;
    }
  }
  return Send(LineOf("BOOKMARK", std::move(object)));
}

void HttpWatch::OnEnd(const std::optional<Error>& error) {
  if (responder_ != nullptr && error) {
    responder_->Write(LineOf("ERROR", StatusOf(*error)));
  }
  core_.executor().Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Close();
  });
}

}  // namespace drachma::apiserver
