#include "apiserver/webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "apiserver/admission_form.h"
#include "apiserver/status.h"
#include "apiserver/webhook_conditions.h"
#include "base/log.h"
#include "json/json.h"
#include "net/signing.h"

namespace drachma::apiserver {

using json::Value;

namespace {

constexpr std::string_view kGroup = "admissionregistration.k8s.io";
constexpr std::int64_t kTimeoutSeconds = 10;  // upstream's default

bool Ignores(const Value& hook) { return hook["failurePolicy"].AsString() == "Ignore"; }

// A call that failed, by the hook's failurePolicy.
Status FailedCall(const Value& hook, const Error& error) {
  Error failed = WebhookCallError(hook["name"].AsString(), error.message);
  if (!Ignores(hook)) return std::unexpected(std::move(failed));
  Log(LogLevel::kWarning, "apiserver", "failing open: {}", failed.message);
  return {};
}

}  // namespace

// A request on its way through the mutating webhooks.
struct Webhooks::Chain {
  AdmissionRequest* request;
  Done done;
  std::vector<Value> hooks;
  std::size_t next = 0;
};

// A request that waits for all validating webhooks.
struct Webhooks::Fan {
  AdmissionRequest* request;
  Done done;
  std::size_t waiting = 0;
  std::map<std::size_t, Error> errors;  // by the place of the hook
};

std::vector<Value> Webhooks::Hooks(Phase phase) const {
  std::vector<Value> hooks;
  core_.ForEach(kGroup,
                phase == Phase::kMutating ? "mutatingwebhookconfigurations"
                                          : "validatingwebhookconfigurations",
                "", [&](const Value& configuration) {
                  const auto items = configuration["webhooks"].Items();
                  hooks.insert(hooks.end(), items.begin(), items.end());
                });
  return hooks;
}

bool Webhooks::Handles(const AdmissionRequest& request, Phase phase) const {
  return !IsExemptFromWebhooks(request) && !Hooks(phase).empty();
}

void Webhooks::Review(AdmissionRequest& request, Phase phase, Done done) {
  if (phase == Phase::kValidating) return Validate(request, std::move(done));
  auto chain = std::make_shared<Chain>();
  chain->request = &request;
  chain->done = std::move(done);
  chain->hooks = Hooks(phase);
  Reinvocation& reinvocation = request.reinvocation;
  if (reinvocation.running && !(reinvocation.webhooks.last_output == request.object)) {
    reinvocation.webhooks.Changed();
  }
  Mutate(chain);
}

void Webhooks::Stop() { clients_.clear(); }

Result<std::optional<WebhookInvocation>> Webhooks::Match(const Value& hook,
                                                         const AdmissionRequest& request) const {
  Result<std::optional<WebhookInvocation>> invocation =
      MatchWebhook(hook, request, core_, EquivalentsOf(core_.kinds()));
  if (!invocation || !*invocation || hook["matchConditions"].empty()) return invocation;
  DRA_ASSIGN(const bool holds, ConditionsHold(**invocation, request));
  if (!holds) return std::nullopt;
  return invocation;
}

Result<bool> Webhooks::ConditionsHold(const WebhookInvocation& invocation,
                                      const AdmissionRequest& request) const {
  DRA_ASSIGN(const Value object, InForm(request.object, invocation.as, request));
  DRA_ASSIGN(const Value old_object, InForm(request.old_object, invocation.as, request));
  DRA_ASSIGN(const Value review,
             MakeAdmissionReview(invocation, request, std::string(), object, old_object));
  Result<bool> holds = MatchConditionsHold(invocation.hook, review["request"]);
  if (holds) return holds;
  return std::unexpected(
      ForbiddenError(request.group, request.resource, request.name, holds.error().message));
}

Result<Value> Webhooks::InForm(const Value& object, const ResourceKind& form,
                               const AdmissionRequest& request) const {
  return apiserver::InForm(core_.kinds(), request, object, form);
}

// --- One call.

Result<Webhooks::Target> Webhooks::TargetOf(const Value& hook) const {
  const Value& config = hook["clientConfig"];
  const std::int64_t seconds = hook["timeoutSeconds"].AsInt(kTimeoutSeconds);
  Target target{.url = std::string(config["url"].AsString())};
  if (config["service"].IsObject()) {
    DRA_ASSIGN(target, TargetOfService(config["service"]));
  } else if (target.url.empty()) {
    return BadInput("webhook configuration must have either service or URL");
  }
  if (target.shown_url.empty()) target.shown_url = target.url;
  for (std::string* url : {&target.url, &target.shown_url}) {
    *url += fmt::format("{}timeout={}s", url->find('?') == std::string::npos ? "?" : "&", seconds);
  }
  return target;
}

Result<Webhooks::Target> Webhooks::TargetOfService(const Value& service) const {
  const std::string_view ns = service["namespace"].AsString();
  const std::string_view name = service["name"].AsString();
  const std::int64_t port = service["port"].AsInt(443);
  std::string path(service["path"].AsString());
  if (!path.starts_with('/')) path.insert(0, "/");
  Target target{.server_name = fmt::format("{}.{}.svc", name, ns)};
  target.shown_url = fmt::format("https://{}:{}{}", target.server_name, port, path);
  const auto unresolved = [&](std::string_view why) {
    return BadInput(fmt::format("failed to call webhook: Post \"{}?timeout={}s\": {}",
                                target.shown_url, kTimeoutSeconds, why));
  };
  const Value found = core_.Get("", "services", ns, name);
  if (found.IsNull()) return unresolved(fmt::format("service \"{}\" not found", name));
  if (found["spec"]["type"].AsString() == "ExternalName") {
    target.url =
        fmt::format("https://{}:{}{}", found["spec"]["externalName"].AsString(), port, path);
    return target;
  }
  // Cluster IPs lead nowhere from here; the endpoints behind them do when they are real.
  std::string host;
  std::int64_t host_port = 0;
  core_.ForEach("discovery.k8s.io", "endpointslices", ns, [&](const Value& slice) {
    if (!host.empty() ||
        slice["metadata"]["labels"]["kubernetes.io/service-name"].AsString() != name) {
      return;
    }
    for (const Value& endpoint : slice["endpoints"].Items()) {
      if (!endpoint["conditions"]["ready"].AsBool(true) || endpoint["addresses"].empty()) continue;
      host = endpoint["addresses"].Items().front().AsString();
      if (!slice["ports"].empty()) host_port = slice["ports"].Items().front()["port"].AsInt();
      return;
    }
  });
  if (host.empty()) {
    return unresolved(fmt::format("no endpoints available for service \"{}\"", name));
  }
  const bool v6 = host.find(':') != std::string::npos;
  target.url = fmt::format("https://{}{}{}:{}{}", v6 ? "[" : "", host, v6 ? "]" : "",
                           host_port == 0 ? port : host_port, path);
  return target;
}

Result<Webhooks::Client*> Webhooks::ClientFor(const Value& hook, const Target& target) {
  const std::string_view bundle = hook["clientConfig"]["caBundle"].AsString();
  std::string key = fmt::format("{} {}", target.server_name, bundle);
  if (const auto found = clients_.find(key); found != clients_.end()) return &found->second;
  if (clients_.size() >= kClientsMax) {
    auto oldest = clients_.end();
    for (auto client = clients_.begin(); client != clients_.end(); ++client) {
      if (client->second.calls > 0) continue;
      if (oldest == clients_.end() || client->second.last_use < oldest->second.last_use) {
        oldest = client;
      }
    }
    if (oldest == clients_.end()) return BadInput("could not get REST client: too many are in use");
    clients_.erase(oldest);
  }
  net::ClientOptions options{.server_name = target.server_name,
                             .user_agent = "kube-apiserver-admission",
                             .response_bytes_max = kResponseBytesMax};
  DRA_ASSIGN(options.ca_pem, net::Base64Decode(bundle));
  Result<std::unique_ptr<net::HttpClient>> http = net::HttpClient::Make(std::move(options));
  if (!http) {
    return BadInput(fmt::format("could not get REST client: {}", http.error().message));
  }
  Client& client = clients_[std::move(key)];
  client.http = std::move(*http);
  return &client;
}

void Webhooks::Call(const WebhookInvocation& invocation, const AdmissionRequest& request,
                    Phase phase, Answered answered) {
  const Value& hook = invocation.hook;
  const auto fail = [&](Error error) {
    core_.executor().Post([answered = std::move(answered), error = std::move(error)]() mutable {
      answered(std::unexpected(std::move(error)));
    });
  };
  const Result<Value> object = InForm(request.object, invocation.as, request);
  if (!object) return fail(object.error());
  const Result<Value> old_object = InForm(request.old_object, invocation.as, request);
  if (!old_object) return fail(old_object.error());
  Result<Value> review =
      MakeAdmissionReview(invocation, request, core_.random().Uuid(), *object, *old_object);
  if (!review) return fail(std::move(review.error()));
  Result<Target> target = TargetOf(hook);
  if (!target) return fail(std::move(target.error()));
  const Result<Client*> client = ClientFor(hook, *target);
  if (!client) return fail(client.error());

  ++(*client)->calls;
  (*client)->last_use = ++uses_;
  net::ClientRequest call{
      .method = "POST",
      .url = target->url,
      .headers = {{"Content-Type", "application/json"}, {"Accept", "application/json, */*"}},
      .body = net::Share(json::Write(*review)),
      .timeout = std::chrono::seconds(hook["timeoutSeconds"].AsInt(kTimeoutSeconds))};
  if (!target->server_name.empty()) call.headers.Add("Host", target->server_name);
  (*client)->http->Send(
      std::move(call), core_.executor(),
      // The client stays where it is in its map as long as it has calls.
      [client = *client, phase, review = std::move(*review), url = std::move(target->shown_url),
       answered = std::move(answered)](Result<net::ClientResponse> response) mutable {
        --client->calls;
        if (!response) {
          const bool late = response.error().code == Code::kTimeout;
          return answered(
              BadInput(fmt::format("failed to call webhook: Post \"{}\": {}", url,
                                   late ? "context deadline exceeded" : response.error().message)));
        }
        if (response->status < 200 || response->status > 206) {
          return answered(BadInput(fmt::format("failed to call webhook: {}",
                                               HttpFailure(response->status, response->body))));
        }
        answered(ReadAdmissionReview(review, response->body, phase));
      });
}

// --- Mutating webhooks.

void Webhooks::Mutate(const std::shared_ptr<Chain>& chain) {
  Reinvocation& reinvocation = chain->request->reinvocation;
  while (chain->next < chain->hooks.size()) {
    const Value& hook = chain->hooks[chain->next];
    std::string key = fmt::format("{}/{}", chain->next++, hook["name"].AsString());
    if (reinvocation.running && !reinvocation.webhooks.again.contains(key)) continue;
    Result<std::optional<WebhookInvocation>> invocation = Match(hook, *chain->request);
    if (!invocation) return chain->done(std::unexpected(std::move(invocation.error())));
    if (!*invocation) continue;
    if (Status fits = CheckDryRun(hook, *chain->request); !fits) {
      return chain->done(std::move(fits));
    }
    Call(**invocation, *chain->request, Phase::kMutating,
         [this, chain, key = std::move(key),
          invocation = **invocation](Result<WebhookVerdict> verdict) {
           Status applied = Apply(*chain->request, key, invocation, std::move(verdict));
           if (!applied) return chain->done(std::move(applied));
           Mutate(chain);
         });
    return;
  }
  reinvocation.webhooks.last_output = chain->request->object;
  chain->done({});
}

Status Webhooks::Apply(AdmissionRequest& request, const std::string& key,
                       const WebhookInvocation& invocation, Result<WebhookVerdict> verdict) {
  const Value& hook = invocation.hook;
  const std::string_view name = hook["name"].AsString();
  Reinvocation::Steps& steps = request.reinvocation.webhooks;
  if (!verdict) return FailedCall(hook, verdict.error());
  request.warnings.insert(request.warnings.end(), verdict->warnings.begin(),
                          verdict->warnings.end());
  if (!verdict->allowed) return std::unexpected(WebhookDenial(name, verdict->status));
  if (!verdict->patch.empty()) {
    if (request.object.IsNull()) {
      return std::unexpected(InternalError(
          fmt::format("admission webhook \"{}\" attempted to modify the object, which is "
                      "not supported for this operation",
                      name)));
    }
    DRA_ASSIGN(Value patched, Patched(invocation, request, verdict->patch));
    if (!(patched == request.object)) {
      request.object = std::move(patched);
      steps.Changed();
      request.reinvocation.wanted = true;
    }
  }
  if (hook["reinvocationPolicy"].AsString() == "IfNeeded") steps.reinvocable.insert(key);
  return {};
}

Result<Value> Webhooks::Patched(const WebhookInvocation& invocation,
                                const AdmissionRequest& request, const Value& patch) const {
  const ResourceKind& form = invocation.as;
  DRA_ASSIGN(Value before, InForm(request.object, form, request));
  Result<Value> after = json::JsonPatch(std::move(before), patch);
  if (!after) return std::unexpected(InternalError(after.error().message));
  return FromForm(core_, request, form, *after, api::StrictFields::kIgnore);
}

// --- Validating webhooks.

void Webhooks::Validate(AdmissionRequest& request, Done done) {
  auto fan = std::make_shared<Fan>();
  fan->request = &request;
  std::vector<WebhookInvocation> calls;
  for (const Value& hook : Hooks(Phase::kValidating)) {
    Result<std::optional<WebhookInvocation>> invocation = Match(hook, request);
    if (!invocation) return done(std::unexpected(std::move(invocation.error())));
    if (*invocation) calls.push_back(std::move(**invocation));
  }
  for (const WebhookInvocation& call : calls) {
    if (Status fits = CheckDryRun(call.hook, request); !fits) return done(std::move(fits));
  }
  if (calls.empty()) return done({});
  fan->done = std::move(done);
  fan->waiting = calls.size();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Call(calls[i], request, Phase::kValidating,
         [fan, i, hook = calls[i].hook](Result<WebhookVerdict> verdict) {
           if (!verdict) {
             if (Status failed = FailedCall(hook, verdict.error()); !failed) {
               fan->errors.emplace(i, std::move(failed.error()));
             }
           } else {
             auto& warnings = fan->request->warnings;
             warnings.insert(warnings.end(), verdict->warnings.begin(), verdict->warnings.end());
             if (!verdict->allowed) {
               fan->errors.emplace(i, WebhookDenial(hook["name"].AsString(), verdict->status));
             }
           }
           if (--fan->waiting > 0) return;
           if (fan->errors.empty()) return fan->done({});
           fan->done(std::unexpected(std::move(fan->errors.begin()->second)));
         });
  }
}

}  // namespace drachma::apiserver
