#include "client/fake_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "client/informer.h"
#include "json/json.h"
#include "json/yaml.h"

namespace drachma::client {
namespace {

using json::Value;

// Lists of patches that merge by a key (patchMergeKey), as far as our rooms patch them.
struct MergeList {
  std::string_view member;
  std::string_view key;
};
constexpr MergeList kMergeLists[] = {
    {"conditions", "type"},        {"reservedFor", "uid"}, {"resourceClaimStatuses", "name"},
    {"ownerReferences", "uid"},    {"addresses", "type"},  {"taints", "key"},
    {"containerStatuses", "name"},
};

void MergeInto(Value& target, const Value& patch);

void MergeListInto(Value& target, const Value& patch, std::string_view key) {
  for (const Value& item : patch.Items()) {
    std::size_t index = 0;
    while (index < target.size() && !(target.Items()[index][key] == item[key])) ++index;
    if (item["$patch"].AsString() == "delete") {
      if (index < target.size()) target.EraseItem(index);
    } else if (index < target.size()) {
      MergeInto(target.EditItem(index), item);
    } else {
      target.Append(item);
    }
  }
}

// A strategic merge patch, for objects without lists but kMergeLists and lists that are replaced.
void MergeInto(Value& target, const Value& patch) {
  for (const json::Member& member : patch.Members()) {
    const auto list = std::ranges::find(kMergeLists, member.key(), &MergeList::member);
    if (member.value.IsNull()) {
      target.Erase(member.key());
    } else if (member.value.IsObject()) {
      MergeInto(target.Edit(member.key()), member.value);
    } else if (member.value.IsArray() && list != std::end(kMergeLists)) {
      MergeListInto(target.Edit(member.key()), member.value, list->key);
    } else if (!member.key().starts_with('$')) {
      target.Set(member.key(), member.value);
    }
  }
}

std::int64_t ToVersion(std::string_view text) {
  std::int64_t version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  return version;
}

std::string KeyOf(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

Error NotFound(const Request& request) {
  return {.code = Code::kNotFound,
          .message = fmt::format("{} \"{}\" not found", request.resource.plural, request.name),
          .kind = request.resource.plural,
          .name = request.name};
}

std::string ApiVersion(const Resource& resource) {
  return resource.group.empty() ? resource.version
                                : fmt::format("{}/{}", resource.group, resource.version);
}

// The field selectors that our rooms use: "path=value" and "path!=value", joined by commas.
bool MatchesFields(const Value& object, std::string_view selector) {
  while (!selector.empty()) {
    const std::string_view term = selector.substr(0, selector.find(','));
    selector.remove_prefix(std::min(selector.size(), term.size() + 1));
    const std::size_t equals = term.find('=');
    const bool negated = equals > 0 && term[equals - 1] == '!';
    std::string_view path = term.substr(0, negated ? equals - 1 : equals);
    const Value* value = &object;
    while (!path.empty()) {
      const std::string_view step = path.substr(0, path.find('.'));
      path.remove_prefix(std::min(path.size(), step.size() + 1));
      value = &(*value)[step];
    }
    if ((value->AsString() == term.substr(equals + 1)) == negated) return false;
  }
  return true;
}

bool Concerns(const Request& request, const Resource& resource, const Value& object) {
  return request.resource == resource &&
         (request.ns.empty() || object["metadata"]["namespace"].AsString() == request.ns) &&
         MatchesFields(object, request.field_selector);
}

}  // namespace

std::optional<Resource> ResourceOfKind(std::string_view api_version, std::string_view kind) {
  std::string plural;
  for (const char c : kind) plural += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (plural.ends_with("ss")) {
    plural += "es";
  } else if (plural.ends_with("y")) {
    plural.back() = 'i';
    plural += "es";
  } else {
    plural += "s";
  }
  const std::size_t slash = api_version.find('/');
  if (kind.empty() || api_version.empty()) return std::nullopt;
  if (slash == std::string_view::npos) return Resource{"", std::string(api_version), plural};
  return Resource{std::string(api_version.substr(0, slash)),
                  std::string(api_version.substr(slash + 1)), plural};
}

struct FakeApi::Failure {
  std::function<bool(const Request&)> matches;
  Error error;
  int times = 1;
};

class FakeApi::FakeWatch final : public Watch {
 public:
  FakeWatch(FakeApi& api, Executor& executor, Request request, WatchHandler& handler)
      : api_(api), executor_(executor), request_(std::move(request)), handler_(handler) {
    api_.watches_.push_back(this);
    executor_.Post([this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired() && !closed_) api_.Begin(*this);
    });
  }
  ~FakeWatch() override { std::erase(api_.watches_, this); }

  void Send(WatchEvent event) {
    executor_.Post([this, alive = std::weak_ptr(alive_), event = std::move(event)]() mutable {
      if (!alive.expired() && !closed_) handler_.OnEvent(std::move(event));
    });
  }
  void Close(Error error) {
    executor_.Post([this, alive = std::weak_ptr(alive_), error = std::move(error)]() mutable {
      if (!alive.expired() && !std::exchange(closed_, true)) handler_.OnClosed(std::move(error));
    });
  }

  [[nodiscard]] const Request& request() const { return request_; }
  bool live = false;  // Begin has been through

 private:
  FakeApi& api_;
  Executor& executor_;
  const Request request_;
  WatchHandler& handler_;
  bool closed_ = false;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

class FakeApi::FakeClient final : public Client {
 public:
  FakeClient(FakeApi& api, Executor& executor) : api_(api), executor_(executor) {}

  void Call(Request request, Callback done) override {
    executor_.Post([this, alive = std::weak_ptr(alive_), request = std::move(request),
                    done = std::move(done)]() mutable {
      if (alive.expired()) return;
      Result<Value> answer = api_.Serve(request);
      executor_.Post([alive, answer = std::move(answer), done = std::move(done)]() mutable {
        if (!alive.expired()) done(std::move(answer));
      });
    });
  }
  std::unique_ptr<Watch> StartWatch(Request request, WatchHandler& handler) override {
    request.verb = Verb::kWatch;
    return std::make_unique<FakeWatch>(api_, executor_, std::move(request), handler);
  }
  Executor& executor() override { return executor_; }

 private:
  FakeApi& api_;
  Executor& executor_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

class FakeApi::FakeFactory final : public ClientFactory {
 public:
  explicit FakeFactory(FakeApi& api) : api_(api) {}
  std::unique_ptr<Client> NewClient(Executor& executor, std::string /*user_agent*/) override {
    return std::make_unique<FakeClient>(api_, executor);
  }

 private:
  FakeApi& api_;
};

FakeApi::FakeApi() : factory_(std::make_unique<FakeFactory>(*this)) {}
FakeApi::~FakeApi() = default;
ClientFactory& FakeApi::factory() { return *factory_; }

void FakeApi::Apply(std::string_view yaml) {
  auto documents = json::ReadYaml(yaml);
  DRA_CHECK(documents.has_value());
  for (json::YamlDocument& document : *documents) Put(std::move(document.value));
}

Value FakeApi::Put(Value object) {
  const auto resource = ResourceOfKind(object["apiVersion"].AsString(), object["kind"].AsString());
  DRA_CHECK(resource.has_value());
  const auto& table = tables_[*resource];
  const auto old = table.find(client::KeyOf(object));
  Value& metadata = object.Edit("metadata");
  if (old != table.end() && !metadata.Has("uid")) {
    metadata.Set("uid", old->second["metadata"]["uid"]);
  }
  return Store(*resource, std::move(object),
               old == table.end() ? WatchEvent::Type::kAdded : WatchEvent::Type::kModified);
}

void FakeApi::Remove(const Resource& resource, std::string_view ns, std::string_view name) {
  Drop(resource, KeyOf(ns, name));
}

Value FakeApi::Get(const Resource& resource, std::string_view ns, std::string_view name) const {
  const auto table = tables_.find(resource);
  if (table == tables_.end()) return {};
  const auto found = table->second.find(KeyOf(ns, name));
  return found == table->second.end() ? Value() : found->second;
}

std::vector<Value> FakeApi::List(const Resource& resource) const {
  std::vector<Value> objects;
  if (const auto table = tables_.find(resource); table != tables_.end()) {
    for (const auto& [key, object] : table->second) objects.push_back(object);
  }
  return objects;
}

void FakeApi::Change(const Resource& resource, std::string_view ns, std::string_view name,
                     const std::function<void(Value&)>& change) {
  Value object = Get(resource, ns, name);
  DRA_CHECK(!object.IsNull());
  change(object);
  Store(resource, std::move(object), WatchEvent::Type::kModified);
}

void FakeApi::FailNext(std::function<bool(const Request&)> matches, Error error, int times) {
  failures_.push_back({std::move(matches), std::move(error), times});
}

void FakeApi::CloseWatches(const Error& error) {
  for (FakeWatch* watch : watches_) {
    watch->live = false;
    watch->Close(error);
  }
}

void FakeApi::Compact() {
  compacted_ = version_;
  log_.clear();
}

Result<Value> FakeApi::Serve(const Request& request) {
  requests_.push_back(request);
  if (hook_) hook_(request);
  for (auto failure = failures_.begin(); failure != failures_.end(); ++failure) {
    if (!failure->matches(request)) continue;
    Error error = failure->error;
    if (--failure->times == 0) failures_.erase(failure);
    return std::unexpected(std::move(error));
  }
  switch (request.verb) {
    case Verb::kList:
      return ListOf(request);
    case Verb::kCreate:
      return request.subresource == "binding" ? Bind(request) : Create(request);
    case Verb::kUpdate:
      return Update(request, request.body);
    case Verb::kPatch:
      return Patch(request);
    case Verb::kDelete:
      return Delete(request);
    case Verb::kDeleteCollection:
      return DeleteCollection(request);
    default:
      break;
  }
  Value object = Get(request.resource, request.ns, request.name);
  if (object.IsNull()) return std::unexpected(NotFound(request));
  return object;
}

Result<Value> FakeApi::ListOf(const Request& request) const {
  Value items = Value::Array();
  if (const auto table = tables_.find(request.resource); table != tables_.end()) {
    for (const auto& [key, object] : table->second) {
      if (Concerns(request, request.resource, object)) items.Append(object);
    }
  }
  return Value::Object(
      {{"apiVersion", ApiVersion(request.resource)},
       {"kind", "List"},
       {"metadata", Value::Object({{"resourceVersion", std::to_string(version_)}})},
       {"items", std::move(items)}});
}

Result<Value> FakeApi::Create(const Request& request) {
  Value object = request.body;
  Value& metadata = object.Edit("metadata");
  if (metadata["name"].AsString().empty()) {
    metadata.Set("name", std::string(metadata["generateName"].AsString()) + random_.NameSuffix());
  }
  if (!request.ns.empty()) metadata.Set("namespace", request.ns);
  if (tables_[request.resource].contains(client::KeyOf(object))) {
    return Fail(Code::kAlreadyExists,
                fmt::format("{} \"{}\" already exists", request.resource.plural,
                            metadata["name"].AsString()));
  }
  return Store(request.resource, std::move(object), WatchEvent::Type::kAdded);
}

Result<Value> FakeApi::Update(const Request& request, Value object) {
  const Value old = Get(request.resource, request.ns, request.name);
  if (old.IsNull()) return std::unexpected(NotFound(request));
  const Value& metadata = object["metadata"];
  for (const std::string_view field : {"resourceVersion", "uid"}) {
    if (const auto given = metadata[field].AsString();
        !given.empty() && given != old["metadata"][field].AsString()) {
      return Fail(Code::kConflict, fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                                               request.resource.plural, request.name, field));
    }
  }
  if (request.subresource == "status") {
    Value changed = old;
    changed.Set("status", object["status"]);
    object = std::move(changed);
  } else if (old.Has("status")) {
    object.Set("status", old["status"]);
  }
  const bool ends =
      object["metadata"].Has("deletionTimestamp") && object["metadata"]["finalizers"].empty();
  Value stored = Store(request.resource, std::move(object), WatchEvent::Type::kModified);
  if (ends) Drop(request.resource, client::KeyOf(stored));
  return stored;
}

Result<Value> FakeApi::Patch(const Request& request) {
  Value object = Get(request.resource, request.ns, request.name);
  if (object.IsNull()) return std::unexpected(NotFound(request));
  const Value& wanted = request.body["metadata"];
  for (const std::string_view field : {"resourceVersion", "uid"}) {
    if (wanted.Has(field) && !(wanted[field] == object["metadata"][field])) {
      return Fail(Code::kConflict, "the object has been modified");
    }
  }
  if (request.patch == PatchType::kJson) {
    DRA_ASSIGN(object, json::JsonPatch(std::move(object), request.body));
  } else if (request.patch == PatchType::kMerge) {
    object = json::MergePatch(std::move(object), request.body);
  } else {
    MergeInto(object, request.body);
  }
  return Update(request, std::move(object));
}

Result<Value> FakeApi::Delete(const Request& request) {
  Value object = Get(request.resource, request.ns, request.name);
  if (object.IsNull()) return std::unexpected(NotFound(request));
  const Value& uid = request.body["preconditions"]["uid"];
  if (!uid.IsNull() && !(uid == object["metadata"]["uid"])) {
    return Fail(Code::kConflict, "uid precondition failed");
  }
  if (object["metadata"]["finalizers"].empty()) {
    Drop(request.resource, client::KeyOf(object));
    return object;
  }
  object.Edit("metadata").Set("deletionTimestamp", "2026-01-01T00:00:00Z");
  return Store(request.resource, std::move(object), WatchEvent::Type::kModified);
}

Result<Value> FakeApi::DeleteCollection(const Request& request) {
  DRA_ASSIGN(const Value list, ListOf(request));
  for (const Value& object : list["items"].Items()) {
    Request one = request;
    one.ns = object["metadata"]["namespace"].AsString();
    one.name = object["metadata"]["name"].AsString();
    DRA_ASSIGN(const Value gone, Delete(one));
  }
  return list;
}

Result<Value> FakeApi::Bind(const Request& request) {
  Value pod = Get(request.resource, request.ns, request.name);
  if (pod.IsNull()) return std::unexpected(NotFound(request));
  if (!pod["spec"]["nodeName"].AsString().empty()) {
    return Fail(Code::kConflict, "pod is already assigned to a node");
  }
  pod.Edit("spec").Set("nodeName", request.body["target"]["name"]);
  Value patch = Value::Object(
      {{"status",
        Value::Object({{"conditions", Value::Array({Value::Object(
                                          {{"type", "PodScheduled"}, {"status", "True"}})})}})}});
  MergeInto(pod, patch);
  Store(request.resource, std::move(pod), WatchEvent::Type::kModified);
  return Value::Object({{"kind", "Status"}, {"status", "Success"}});
}

Value FakeApi::Store(const Resource& resource, Value object, WatchEvent::Type type) {
  Value& metadata = object.Edit("metadata");
  ++version_;
  metadata.Set("resourceVersion", std::to_string(version_));
  if (!metadata.Has("uid")) metadata.Set("uid", random_.Uuid());
  if (!metadata.Has("creationTimestamp")) {
    metadata.Set("creationTimestamp", "2026-01-01T00:00:00Z");
  }
  tables_[resource].insert_or_assign(client::KeyOf(object), object);
  Publish(resource, {.type = type, .object = object});
  return object;
}

void FakeApi::Drop(const Resource& resource, const std::string& key) {
  auto& table = tables_[resource];
  const auto found = table.find(key);
  if (found == table.end()) return;
  Value object = std::move(found->second);
  table.erase(found);
  object.Edit("metadata").Set("resourceVersion", std::to_string(++version_));
  Publish(resource, {.type = WatchEvent::Type::kDeleted, .object = std::move(object)});
}

void FakeApi::Publish(const Resource& resource, WatchEvent event) {
  log_.push_back({version_, resource, event});
  for (FakeWatch* watch : watches_) {
    if (watch->live && Concerns(watch->request(), resource, event.object)) watch->Send(event);
  }
}

void FakeApi::Begin(FakeWatch& watch) {
  const Request& request = watch.request();
  requests_.push_back(request);
  if (request.send_initial_events.value_or(false)) {
    if (!watch_list_) {
      watch.Close({.code = Code::kInvalid, .message = "sendInitialEvents: Forbidden"});
      return;
    }
    const Value list = *ListOf(request);
    for (const Value& item : list["items"].Items()) {
      watch.Send({.type = WatchEvent::Type::kAdded, .object = item});
    }
    Value bookmark = Value::Object();
    Value& metadata = bookmark.Edit("metadata");
    metadata.Set("resourceVersion", std::to_string(version_));
    metadata.Set("annotations", Value::Object({{"k8s.io/initial-events-end", "true"}}));
    watch.Send({.type = WatchEvent::Type::kBookmark, .object = std::move(bookmark)});
  } else {
    const std::int64_t from = ToVersion(request.resource_version);
    if (from < compacted_) {
      watch.Close({.code = Code::kExpired, .message = "too old resource version"});
      return;
    }
    for (const Logged& logged : log_) {
      if (logged.version > from && Concerns(request, logged.resource, logged.event.object)) {
        watch.Send(logged.event);
      }
    }
  }
  watch.live = true;
}

}  // namespace drachma::client
