#include "apiserver/core.h"

#include <fmt/format.h>

#include <utility>

#include "api/selectors.h"
#include "apiserver/codec.h"
#include "apiserver/list.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"
#include "apiserver/watch.h"

namespace drachma::apiserver {

Core::Core(store::Store& store, Executor& executor, Options options)
    : store_(store),
      executor_(executor),
      options_(std::move(options)),
      kinds_(options_.gates),
      random_(options_.seed == 0 ? Random::FromSystem() : Random(options_.seed)),
      self_(std::make_shared<Core*>(this)) {
  RegisterSubresources(*this);
}

Core::~Core() = default;

void Core::Shutdown() {
  const std::unordered_set<WatchSession*> sessions = sessions_;
  for (WatchSession* session : sessions) session->Stop();
  self_.reset();
  options_.authorizers.clear();  // they may follow the store
  options_.admission.clear();    // so may these
}

void Core::AddHandler(std::string key, Handler handler) {
  handlers_[std::move(key)] = std::move(handler);
}

void Core::AddAuthorizer(std::shared_ptr<Authorizer> authorizer) {
  options_.authorizers.push_back(std::move(authorizer));
}

void Core::AddAdmission(std::shared_ptr<AdmissionPlugin> plugin) {
  options_.admission.push_back(std::move(plugin));
}

void Core::AddWebhook(std::shared_ptr<AsyncAdmission> webhook) {
  options_.webhooks.push_back(std::move(webhook));
}

bool Core::GateOn(std::string_view name) const {
  for (const api::GateInfo& info : api::AllGates()) {
    if (info.name == name) return options_.gates.On(info.gate);
  }
  return false;
}

Result<KindPtr> Core::KindOf(const client::Resource& resource) const {
  KindPtr kind = kinds_.Find(resource.group, resource.version, resource.plural);
  if (kind == nullptr) return std::unexpected(NoSuchResourceError());
  return kind;
}

namespace {

constexpr std::string_view kVerbNames[] = {"get",    "list",  "watch",  "create",
                                           "update", "patch", "delete", "deletecollection"};

std::uint16_t VerbBit(client::Verb verb) {
  constexpr std::uint16_t kBits[] = {
      api::kVerbGet,    api::kVerbList,  api::kVerbWatch,  api::kVerbCreate,
      api::kVerbUpdate, api::kVerbPatch, api::kVerbDelete, api::kVerbDeleteCollection};
  return kBits[static_cast<std::size_t>(verb)];
}

// The object that a request is about: a list or a watch that selects one name is about that one
// (apiserver's RequestInfo), so that a kubelet may watch its own node.
std::string NameAskedFor(const client::Request& call) {
  const bool many = call.verb == client::Verb::kList || call.verb == client::Verb::kWatch;
  if (!many || !call.name.empty() || call.field_selector.empty()) return call.name;
  const auto fields = api::FieldSelector::Parse(call.field_selector);
  const std::string* name = fields ? fields->RequiredValue("metadata.name") : nullptr;
  const bool fits = name != nullptr && *name != "." && *name != ".." &&
                    name->find_first_of("/%") == std::string::npos;
  return fits ? *name : call.name;
}

}  // namespace

Attributes Core::AttributesOf(const ApiRequest& request) {
  const client::Request& call = request.call;
  // A namespace counts as inside itself, so that roles in it may speak of it.
  const bool is_namespace = call.resource.group.empty() && call.resource.plural == "namespaces";
  return {.user = request.user,
          .verb = std::string(kVerbNames[static_cast<std::size_t>(call.verb)]),
          .is_resource = true,
          .group = call.resource.group,
          .version = call.resource.version,
          .resource = call.resource.plural,
          .subresource = call.subresource,
          .ns = is_namespace ? call.name : call.ns,
          .name = NameAskedFor(call),
          .field_selector = call.field_selector,
          .label_selector = call.label_selector};
}

Decision Core::Ask(const Attributes& attributes, std::string& reason) const {
  if (attributes.user.InGroup(kMastersGroup)) return Decision::kAllow;
  for (const auto& authorizer : options_.authorizers) {
    std::string why;
    const Decision decision = authorizer->Authorize(attributes, why);
    if (!why.empty()) reason = reason.empty() ? why : reason + "\n" + why;
    if (decision != Decision::kNoOpinion) return decision;
  }
  return Decision::kNoOpinion;
}

std::string Core::RulesOf(const User& user, const std::string& ns, std::vector<Rule>& rules) const {
  std::string faults;
  for (const auto& authorizer : options_.authorizers) {
    authorizer->Rules(user, ns, rules);
    const std::string fault = authorizer->RulesFault(user);
    if (!fault.empty()) faults += (faults.empty() ? "" : ", ") + fault;
  }
  return faults;
}

Status Core::AdmitOther(AdmissionRequest& request) {
  DRA_TRY(Admit(request));
  return Validate(request);
}

Status Core::Authorize(const Attributes& attributes) const {
  std::string reason;
  if (Ask(attributes, reason) == Decision::kAllow) return {};
  const std::string suffix = reason.empty() ? "" : ": " + reason;
  const std::string& user = attributes.user.name;
  if (!attributes.is_resource) {
    return std::unexpected(
        Error{.code = Code::kForbidden,
              .message = fmt::format("forbidden: User \"{}\" cannot {} path \"{}\"{}", user,
                                     attributes.verb, attributes.path, suffix)});
  }
  std::string resource = attributes.resource;
  if (!attributes.subresource.empty()) resource += "/" + attributes.subresource;
  const std::string where = attributes.ns.empty()
                                ? std::string("at the cluster scope")
                                : fmt::format("in the namespace \"{}\"", attributes.ns);
  return std::unexpected(ForbiddenError(
      attributes.group, attributes.resource, attributes.name,
      fmt::format("User \"{}\" cannot {} resource \"{}\" in API group \"{}\" {}{}", user,
                  attributes.verb, resource, attributes.group, where, suffix)));
}

void Core::Handle(ApiRequest request, Done done) {
  if (Status allowed = Authorize(AttributesOf(request)); !allowed) {
    done(std::unexpected(std::move(allowed.error())));
    return;
  }
  Result<KindPtr> kind = KindOf(request.resource());
  if (!kind) {
    done(std::unexpected(std::move(kind.error())));
    return;
  }
  Dispatch(std::move(request), *kind, std::move(done));
}

void Core::Dispatch(ApiRequest request, const KindPtr& kind, Done done) {
  const client::Request& call = request.call;
  const std::string key =
      fmt::format("{}/{}/{}", call.resource.group, call.resource.plural, call.subresource);
  if (const auto handler = handlers_.find(key); handler != handlers_.end()) {
    handler->second(*this, std::move(request), kind, std::move(done));
    return;
  }
  std::uint16_t verbs = kind->info().verbs;
  if (!call.subresource.empty()) {
    const api::SubresourceInfo* subresource = kind->info().FindSubresource(call.subresource);
    if (subresource == nullptr) {
      done(std::unexpected(NoSuchResourceError()));
      return;
    }
    verbs = subresource->verbs;
  }
  if ((verbs & VerbBit(call.verb)) == 0) {
    done(std::unexpected(MethodNotAllowedError()));
    return;
  }
  switch (call.verb) {
    case client::Verb::kGet: {
      const Result<store::Revision> wanted = ParseResourceVersion(call.resource_version);
      if (!wanted) {
        // Upstream does not cache events: their storage says it.
        const bool cached = kind->plural() != "events";
        if (cached) return done(std::unexpected(wanted.error()));
        return done(BadInput("invalid resource version: " + wanted.error().message));
      }
      if (*wanted > store_.Current()) {
        return done(std::unexpected(TooLargeResourceVersion(*wanted, store_.Current())));
      }
      Result<store::RecordPtr> record = Find(*kind, call.ns, call.name);
      if (!record) return done(std::unexpected(std::move(record.error())));
      return done(Answer{.kind = kind, .version = call.resource.version, .record = *record});
    }
    case client::Verb::kList:
    case client::Verb::kWatch:
      return done(List(request, kind));
    case client::Verb::kCreate:
      return Create(std::move(request), kind, std::move(done));
    case client::Verb::kUpdate:
      return Update(std::move(request), kind, std::move(done));
    case client::Verb::kPatch:
      return Patch(std::move(request), kind, std::move(done));
    case client::Verb::kDelete:
      return Delete(std::move(request), kind, std::move(done));
    case client::Verb::kDeleteCollection:
      return DeleteCollection(std::move(request), kind, std::move(done));
  }
}

Result<store::RecordPtr> Core::Find(const Kind& kind, const std::string& ns,
                                    const std::string& name) const {
  store::RecordPtr record = store_.Get(kind.KeyOf(ns, name));
  if (record == nullptr) {
    return std::unexpected(NotFoundError(kind.group(), kind.plural(), name));
  }
  return record;
}

Result<Answer> Core::List(const ApiRequest& request, const KindPtr& kind) const {
  Answer answer{.kind = kind, .version = request.resource().version};
  DRA_ASSIGN(answer.list, ListRecords(store_, *kind, request.call));
  return answer;
}

json::Value Core::Get(std::string_view group, std::string_view plural, std::string_view ns,
                      std::string_view name) const {
  const KindPtr kind = kinds_.Find(group, plural);
  if (kind == nullptr) return nullptr;
  const store::RecordPtr record = store_.Get(kind->KeyOf(ns, name));
  return record == nullptr ? json::Value() : record->Object();
}

void Core::ForEach(std::string_view group, std::string_view plural, std::string_view ns,
                   const std::function<void(const json::Value&)>& visit) const {
  const KindPtr kind = kinds_.Find(group, plural);
  if (kind == nullptr) return;
  const Result<store::Page> page = store_.List(kind->ScopeOf(ns));
  if (!page) return;
  for (const store::RecordPtr& record : page->records) visit(record->Object());
}

validation::Context Core::ContextOf(const ApiRequest& request, std::string verb,
                                    const std::string& subresource, const std::string& name) const {
  validation::Context context;
  context.verb = std::move(verb);
  context.group = request.resource().group;
  context.version = request.resource().version;
  context.resource = request.resource().plural;
  context.subresource = subresource;
  context.ns = request.call.ns;
  context.name = name;
  context.user = {.name = request.user.name,
                  .uid = request.user.uid,
                  .groups = request.user.groups,
                  .extra = request.user.extra};
  context.now = FormatTime(Now());
  const bool whole_object =
      request.call.verb == client::Verb::kCreate || request.call.verb == client::Verb::kUpdate;
  if (whole_object) context.sent = request.call.body;
  if (whole_object && IsJson(request.content_type) && request.raw_body) {
    context.sent_text = *request.raw_body;
  }
  context.enabled = [this](std::string_view gate) { return GateOn(gate); };
  context.lookup_namespace = [this](std::string_view ns) -> Result<json::Value> {
    const store::RecordPtr record = store_.Get(fmt::format("/registry/namespaces/{}", ns));
    if (record == nullptr) return std::unexpected(NotFoundError("", "namespaces", ns));
    return record->Object();
  };
  context.authorize = [this, user = request.user](const validation::Access& access) {
    validation::AccessAnswer answer;
    answer.allowed = Ask({.user = user,
                          .verb = access.verb,
                          .is_resource = true,
                          .group = access.group,
                          .version = access.version,
                          .resource = access.resource,
                          .subresource = access.subresource,
                          .ns = access.ns,
                          .name = access.name},
                         answer.reason) == Decision::kAllow;
    return answer;
  };
  context.new_uid = [this] { return random_.Uuid(); };
  context.name_suffix = [this] { return random_.NameSuffix(); };
  return context;
}

AdmissionRequest AdmissionOf(const ApiRequest& request, const Kind& kind, Operation operation) {
  return {.operation = operation,
          .group = request.resource().group,
          .version = request.resource().version,
          .resource = request.resource().plural,
          .subresource = request.call.subresource,
          .kind = std::string(kind.info().kind),
          .ns = request.call.ns,
          .name = request.call.name,
          .user = request.user,
          .dry_run = request.call.dry_run,
          .annotations = request.annotations};
}

Status MatchNamespace(const Kind& kind, const std::string& ns, json::Value& object) {
  const std::string_view given = object["metadata"]["namespace"].AsString();
  if (!kind.info().namespaced()) {
    if (!given.empty()) object.Edit("metadata").Erase("namespace");
    return {};
  }
  if (given.empty()) {
    object.Edit("metadata").Set("namespace", ns);
  } else if (given != ns) {
    return BadInput(
        "the namespace of the provided object does not match the namespace sent on the request");
  }
  return {};
}

Status Core::Admit(AdmissionRequest& request) {
  for (const auto& plugin : options_.admission) DRA_TRY(plugin->Admit(request, *this));
  return {};
}

Status Core::Validate(AdmissionRequest& request) {
  for (const auto& plugin : options_.admission) DRA_TRY(plugin->Validate(request, *this));
  return {};
}

}  // namespace drachma::apiserver
