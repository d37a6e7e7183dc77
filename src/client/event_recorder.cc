#include "client/event_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace drachma::client {
namespace {

const Resource kEvents{.group = "", .version = "v1", .plural = "events"};
constexpr std::string_view kDefaultNamespace = "default";

// Below a microsecond, from a component's name: FNV-1a.
std::int64_t OffsetOf(std::string_view component) {
  constexpr std::uint32_t kBasis = 2166136261U;
  constexpr std::uint32_t kPrime = 16777619U;
  std::uint32_t hash = kBasis;
  for (const char c : component) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  return hash % 1000;
}

std::string_view TypeName(EventType type) {
  return type == EventType::kNormal ? "Normal" : "Warning";
}

json::Value ToJson(const ObjectReference& object) {
  json::Value out = json::Value::Object();
  const auto set = [&out](std::string_view key, const std::string& value) {
    if (!value.empty()) out.Set(key, value);
  };
  set("kind", object.kind);
  set("namespace", object.ns);
  set("name", object.name);
  set("uid", object.uid);
  set("apiVersion", object.api_version);
  set("resourceVersion", object.resource_version);
  return out;
}

}  // namespace

ObjectReference ReferenceTo(const json::Value& object) {
  const json::Value& metadata = object["metadata"];
  return {.api_version = std::string(object["apiVersion"].AsString()),
          .kind = std::string(object["kind"].AsString()),
          .ns = std::string(metadata["namespace"].AsString()),
          .name = std::string(metadata["name"].AsString()),
          .uid = std::string(metadata["uid"].AsString()),
          .resource_version = std::string(metadata["resourceVersion"].AsString())};
}

struct EventRecorder::Series {
  json::Value event;
  int count = 0;
  bool created = false;
  bool busy = false;   // a write is on its way
  bool stale = false;  // the count rose meanwhile
};

struct EventRecorder::Similar {
  std::unordered_set<std::string> messages;
  Duration last{};
};

struct EventRecorder::Budget {
  double tokens = kBurst;
  Duration last{};
};

// The latest kRemembered keys with their values; the least recently used one is forgotten.
template <typename T>
struct EventRecorder::Memory {
  T& Get(const std::string& key) {
    if (const auto found = index.find(key); found != index.end()) {
      order.splice(order.begin(), order, found->second);
      return found->second->second;
    }
    if (order.size() >= kRemembered) {
      index.erase(order.back().first);
      order.pop_back();
    }
    order.emplace_front(key, T{});
    index.emplace(key, order.begin());
    return order.front().second;
  }

  std::list<std::pair<std::string, T>> order;
  std::unordered_map<std::string, typename std::list<std::pair<std::string, T>>::iterator> index;
};

EventRecorder::EventRecorder(Client& client, std::string component, std::string host)
    : client_(client),
      component_(std::move(component)),
      host_(std::move(host)),
      series_(std::make_unique<Memory<std::shared_ptr<Series>>>()),
      similar_(std::make_unique<Memory<Similar>>()),
      budgets_(std::make_unique<Memory<Budget>>()) {}
EventRecorder::~EventRecorder() = default;

void EventRecorder::Record(const ObjectReference& object, EventType type, std::string_view reason,
                           std::string_view message, std::string_view action) {
  if (in_flight_ >= kInFlightMax) return;
  const Duration now = client_.executor().clock().Monotonic();
  const std::string about = fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}", object.kind, object.ns,
                                        object.name, object.uid, TypeName(type));
  if (!TakeBudget(about, now)) return;
  const std::string kind_of_event = fmt::format("{}\x1f{}", about, reason);
  const bool combined = IsOneOfMany(kind_of_event, message, now);
  std::string text =
      combined ? fmt::format("(combined from similar events): {}", message) : std::string(message);
  if (text.size() > kMessageBytesMax) {
    constexpr std::string_view kCut = " ...";
    text.resize(kMessageBytesMax - kCut.size());
    text += kCut;
  }
  std::shared_ptr<Series>& series =
      series_->Get(combined ? kind_of_event : fmt::format("{}\x1f{}", kind_of_event, text));
  const std::string time = FormatTime(client_.executor().clock().Now());
  if (!series) {
    series = std::make_shared<Series>();
    json::Value source = json::Value::Object({{"component", component_}});
    if (!host_.empty()) source.Set("host", host_);
    series->event = json::Value::Object({
        {"apiVersion", "v1"},
        {"kind", "Event"},
        {"metadata",
         json::Value::Object({{"name", NewName(object)},
                              {"namespace", object.ns.empty() ? kDefaultNamespace : object.ns}})},
        {"involvedObject", ToJson(object)},
        {"reason", reason},
        {"source", source},
        {"firstTimestamp", time},
        {"type", TypeName(type)},
        {"reportingComponent", component_},
        {"reportingInstance", host_},
    });
    if (!action.empty()) series->event.Set("action", action);
  }
  ++series->count;
  series->event.Set("count", series->count);
  series->event.Set("lastTimestamp", time);
  series->event.Set("message", text);
  if (series->busy) {
    series->stale = true;
  } else if (series->created) {
    Update(series);
  } else {
    Create(series);
  }
}

bool EventRecorder::TakeBudget(const std::string& key, Duration now) {
  Budget& budget = budgets_->Get(key);
  const double refilled = std::chrono::duration<double>(now - budget.last) / kRefill;
  budget.tokens = std::min<double>(kBurst, budget.tokens + refilled);
  budget.last = now;
  if (budget.tokens < 1) return false;
  budget.tokens -= 1;
  return true;
}

bool EventRecorder::IsOneOfMany(const std::string& key, std::string_view message, Duration now) {
  Similar& similar = similar_->Get(key);
  if (now - similar.last > kSimilarWindow) similar.messages.clear();
  similar.last = now;
  if (similar.messages.size() >= kSimilarMax)
    return !similar.messages.contains(std::string(message));
  similar.messages.emplace(message);
  return false;
}

// client-go's "<name>.<nanoseconds in hex>". Virtual time may stand still between two events, of
// one component or of several.
std::string EventRecorder::NewName(const ObjectReference& object) {
  const std::int64_t now = client_.executor().clock().Now().time_since_epoch().count();
  last_name_ = std::max(now + OffsetOf(component_), last_name_ + 1);
  return fmt::format("{}.{:x}", object.name, last_name_);
}

void EventRecorder::Create(const std::shared_ptr<Series>& series) {
  series->busy = true;
  ++in_flight_;
  Request request{.verb = Verb::kCreate, .resource = kEvents};
  request.ns = series->event["metadata"]["namespace"].AsString();
  request.body = series->event;
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_), series](const Result<json::Value>& answer) {
                 if (alive.expired()) return;
                 --in_flight_;
                 series->busy = false;
                 series->created = answer.has_value();
                 if (series->created && std::exchange(series->stale, false)) Update(series);
               });
}

void EventRecorder::Update(const std::shared_ptr<Series>& series) {
  series->busy = true;
  ++in_flight_;
  Request request{.verb = Verb::kPatch, .resource = kEvents};
  request.ns = series->event["metadata"]["namespace"].AsString();
  request.name = series->event["metadata"]["name"].AsString();
  request.patch = PatchType::kMerge;
  request.body = json::Value::Object({{"count", series->count},
                                      {"lastTimestamp", series->event["lastTimestamp"]},
                                      {"message", series->event["message"]}});
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_), series](const Result<json::Value>& answer) {
                 if (alive.expired()) return;
                 --in_flight_;
                 series->busy = false;
                 if (!answer && answer.error().code == Code::kNotFound) {
                   // It expired in the API: a new one begins where the old one ended.
                   series->created = false;
                   series->event.Edit("metadata").Erase("resourceVersion");
                   Create(series);
                   return;
                 }
                 if (std::exchange(series->stale, false)) Update(series);
               });
}

}  // namespace drachma::client
