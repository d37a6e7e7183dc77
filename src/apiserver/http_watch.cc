#include "apiserver/http_watch.h"

#include <fmt/format.h>

#include <utility>

#include "apiserver/http_front.h"
#include "apiserver/objects.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {

using As = Accepted::As;

HttpWatch::HttpWatch(Core& core, EventTexts& texts, KindPtr kind, std::string version,
                     Rendering rendering, std::shared_ptr<net::HttpResponder> responder,
                     std::unique_ptr<HttpMetrics::OpenWatch> metrics)
    : core_(core),
      texts_(texts),
      kind_(std::move(kind)),
      version_(std::move(version)),
      api_version_(kind_->ApiVersion(version_)),
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

WatchSink::Flow HttpWatch::Send(std::vector<net::SharedBytes> parts) {
  if (!responder_->Write(std::move(parts))) {
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

net::SharedBytes HttpWatch::ObjectText(const store::RecordPtr& record, const json::Value* object) {
  if (object != nullptr) return net::Share(Encoded(*object));
  const As as = rendering_.accepted.as;
  if (as == As::kObject && kind_->storage_api_version() == api_version_) return record->Json();
  // Ages make tables differ from second to second, and the first one has columns.
  if (as == As::kTable) return net::Share(Encoded(record->Object()));
  const std::string form =
      as == As::kObject ? api_version_ : "metadata/" + rendering_.accepted.meta_version;
  return texts_.Get(record, form, [&] { return Encoded(record->Object()); });
}

WatchSink::Flow HttpWatch::OnEvent(Type type, const store::RecordPtr& record,
                                   const json::Value* object) {
  static const net::SharedBytes kPrefixes[] = {
      net::Share(R"({"type":"ADDED","object":)"),
      net::Share(R"({"type":"MODIFIED","object":)"),
      net::Share(R"({"type":"DELETED","object":)"),
  };
  static const net::SharedBytes kSuffix = net::Share("}\n");
  metrics_->CountEvent();
  return Send({kPrefixes[static_cast<std::size_t>(type)], ObjectText(record, object), kSuffix});
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
  return Send({net::Share(
      json::Write(json::Value::Object({{"type", "BOOKMARK"}, {"object", std::move(object)}})) +
      "\n")});
}

void HttpWatch::OnEnd(const std::optional<Error>& error) {
  if (responder_ != nullptr && error) {
    responder_->Write({net::Share(
        json::Write(json::Value::Object({{"type", "ERROR"}, {"object", StatusOf(*error)}})) +
        "\n")});
  }
  core_.executor().Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Close();
  });
}

}  // namespace drachma::apiserver
