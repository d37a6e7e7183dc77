#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/features.h"
#include "apiserver/admission.h"
#include "apiserver/auth.h"
#include "apiserver/kind.h"
#include "apiserver/request.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"
#include "store/store.h"

namespace drachma::apiserver {

class WatchSession;

// What a request is answered. One of the three: an object of the request's kind in its storage
// version (`kind` set), a list of such (`list`), or an object that stands as it is (a Status, a
// Scale). Whoever sends it converts and encodes.
struct Answer {
  struct List {
    std::vector<store::RecordPtr> records;
    store::Revision revision = 0;
    std::string continue_token;
    std::optional<std::int64_t> remaining;
  };

  int code = 200;
  KindPtr kind;
  std::string version;      // asked for
  json::Value object;       // empty when `record` or `list` is set
  store::RecordPtr record;  // the stored object, whose bytes are shared
  std::optional<List> list;
  std::optional<std::string> text;  // plain text (logs); nothing else is set then
  std::vector<std::string> warnings;

  // The object of an answer that is no list.
  [[nodiscard]] json::Value Object() const { return record != nullptr ? record->Object() : object; }
};

using Done = std::move_only_function<void(Result<Answer>)>;

// What a write makes of the present object (null when there is none), both in the storage version.
using Transform = std::function<Result<json::Value>(const json::Value& existing)>;

// A create, an update or a patch on its way: it is checked against the newest state, and starts
// over when that changes before it is stored.
struct WriteJob {
  enum class Missing : std::uint8_t { kFail, kCreate };
  enum class Present : std::uint8_t { kFail, kUpdate };
  // Whether the strategy of the kind prepares and checks the object. Writes that the server makes
  // itself (bindings) do without.
  enum class Strategy : std::uint8_t { kApply, kSkip };

  ApiRequest request;
  KindPtr kind;
  std::string subresource;
  std::string ns;
  std::string name;
  Missing missing = Missing::kFail;
  Present present = Present::kUpdate;
  Strategy strategy = Strategy::kApply;
  Transform transform;
  std::string uid_precondition;
  std::vector<std::string> warnings;
  Done done;

  // --- The present attempt.
  int attempts = 0;
  bool generated_name = false;
  store::RecordPtr base;
  json::Value object;
  bool deletes = false;  // the write completes the object's deletion
  AdmissionRequest admission;
  std::size_t warnings_of_request = 0;  // those that do not come from an attempt
};
using WriteJobPtr = std::shared_ptr<WriteJob>;

// A delete on its way.
struct DeleteJob {
  ApiRequest request;
  KindPtr kind;
  std::string ns;
  std::string name;
  json::Value options;
  std::vector<std::string> warnings;
  Done done;
  int attempts = 0;
  store::RecordPtr base;
  AdmissionRequest admission;
};
using DeleteJobPtr = std::shared_ptr<DeleteJob>;

// The registry: what the API server does to objects, whatever way the request came. It runs on one
// executor and is used from there only; writes are answered when the store has made them durable.
class Core final : public ObjectReader {
 public:
  // Attempts of one write or delete against changing objects, then 409.
  static constexpr int kAttemptsMax = 8;

  struct Options {
    api::FeatureGates gates;
    std::vector<std::shared_ptr<AdmissionPlugin>> admission;
    std::vector<std::shared_ptr<AsyncAdmission>> webhooks;
    std::vector<std::shared_ptr<Authorizer>> authorizers;
    // Events that may wait for one watch; beyond it 410.
    std::size_t watch_lag_events_max = store::kWatchLagDefault;
    std::uint64_t seed = 0;
  };

  Core(store::Store& store, Executor& executor, Options options);
  ~Core() override;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Answers any request but a watch.
  void Handle(ApiRequest request, Done done);
  // The same for a request of `kind` that has been authorised.
  void Dispatch(ApiRequest request, const KindPtr& kind, Done done);

  // Whether the request may be made. ERRORS: kForbidden with upstream's text.
  [[nodiscard]] Status Authorize(const Attributes& attributes) const;
  // The question alone, for access reviews and rules.
  [[nodiscard]] Decision Ask(const Attributes& attributes, std::string& reason) const;
  // Appends what is known of the rules of `user`; returns why that is not all.
  std::string RulesOf(const User& user, const std::string& ns, std::vector<Rule>& rules) const;
  // All plugins, for what is answered without being stored.
  [[nodiscard]] Status AdmitOther(AdmissionRequest& request);
  // The attributes of a resource request.
  [[nodiscard]] static Attributes AttributesOf(const ApiRequest& request);

  // --- Parts that subresources and tests use.

  // Starts a write. The job's request has been authorised and its body read.
  void Run(WriteJobPtr job);
  void Run(DeleteJobPtr job);
  // The kind of a request. ERRORS: kNotFound when nothing serves it.
  [[nodiscard]] Result<KindPtr> KindOf(const client::Resource& resource) const;
  // The newest durable record. ERRORS: kNotFound.
  [[nodiscard]] Result<store::RecordPtr> Find(const Kind& kind, const std::string& ns,
                                              const std::string& name) const;
  [[nodiscard]] Result<Answer> List(const ApiRequest& request, const KindPtr& kind) const;
  [[nodiscard]] validation::Context ContextOf(const ApiRequest& request, std::string verb,
                                              const std::string& subresource,
                                              const std::string& name) const;

  // ObjectReader: committed objects.
  [[nodiscard]] json::Value Get(std::string_view group, std::string_view plural,
                                std::string_view ns, std::string_view name) const override;
  void ForEach(std::string_view group, std::string_view plural, std::string_view ns,
               const std::function<void(const json::Value&)>& visit) const override;

  // Parts that read the registry themselves and so are made after it. Before the first request.
  void AddAuthorizer(std::shared_ptr<Authorizer> authorizer);
  void AddAdmission(std::shared_ptr<AdmissionPlugin> plugin);
  void AddWebhook(std::shared_ptr<AsyncAdmission> webhook);
  // Ends all watches; nothing that is still under way comes back to this object. To be called
  // before the store is closed.
  void Shutdown();
  // Watches that Shutdown ends; they add and remove themselves.
  [[nodiscard]] std::unordered_set<WatchSession*>& sessions() { return sessions_; }

  [[nodiscard]] store::Store& store() const { return store_; }
  // How each user last impersonated somebody, for Impersonate().
  [[nodiscard]] std::unordered_map<std::string, std::size_t>& impersonation_modes() const {
    return impersonation_modes_;
  }
  [[nodiscard]] KindTable& kinds() { return kinds_; }
  [[nodiscard]] const KindTable& kinds() const { return kinds_; }
  [[nodiscard]] const api::FeatureGates& gates() const { return options_.gates; }
  [[nodiscard]] std::size_t watch_lag_events_max() const { return options_.watch_lag_events_max; }
  [[nodiscard]] bool GateOn(std::string_view name) const;
  [[nodiscard]] Executor& executor() { return executor_; }
  [[nodiscard]] Time Now() const { return executor_.clock().Now(); }
  [[nodiscard]] Random& random() { return random_; }
  // Counts changes of what is served (custom resources), for caches of discovery and OpenAPI.
  [[nodiscard]] std::uint64_t served_generation() const { return served_generation_; }
  void BumpServedGeneration() { ++served_generation_; }

  // Handlers of resources and subresources that are more than objects in the store; keyed
  // "group/plural/subresource", the subresource may be empty. Registered at construction.
  using Handler = std::function<void(Core&, ApiRequest, const KindPtr&, Done)>;
  void AddHandler(std::string key, Handler handler);

 private:
  void Create(ApiRequest request, const KindPtr& kind, Done done);
  void Update(ApiRequest request, const KindPtr& kind, Done done);
  void Patch(ApiRequest request, const KindPtr& kind, Done done);
  void Delete(ApiRequest request, const KindPtr& kind, Done done);
  void DeleteCollection(ApiRequest request, const KindPtr& kind, Done done);

  void Attempt(const WriteJobPtr& job);
  Status Prepare(WriteJob& job);
  // Mutating webhooks, and the second run of all that changes the object where it is wanted.
  void Change(const WriteJobPtr& job);
  void Mutated(const WriteJobPtr& job);
  Status Check(WriteJob& job);
  Status CheckUpdate(WriteJob& job);
  void Checked(const WriteJobPtr& job);
  void Committed(const WriteJobPtr& job, Result<store::RecordPtr> result);
  void Finish(WriteJob& job, Answer answer);
  void AnswerUnchanged(const WriteJobPtr& job);
  // Runs `review` phases of webhooks one after the other, then `next`.
  void Review(AdmissionRequest& request, AsyncAdmission::Phase phase,
              std::move_only_function<void(Status)> next, std::size_t from = 0);

  void Attempt(const DeleteJobPtr& job);
  void Remove(const DeleteJobPtr& job);
  void Deleted(const DeleteJobPtr& job, json::Value last, Result<store::RecordPtr> result,
               bool gone);
  Status Admit(AdmissionRequest& request);
  Status Validate(AdmissionRequest& request);

  store::Store& store_;
  Executor& executor_;
  Options options_;
  KindTable kinds_;
  mutable Random random_;  // names and uids of a validation's context come from it
  std::unordered_map<std::string, Handler> handlers_;
  std::uint64_t served_generation_ = 1;
  mutable std::unordered_map<std::string, std::size_t> impersonation_modes_;
  std::unordered_set<WatchSession*> sessions_;
  // Callbacks of the store and of timers outlive nothing: they hold this weakly.
  std::shared_ptr<Core*> self_;
};

// The AdmissionRequest of a write of `kind` with what the request says.
[[nodiscard]] AdmissionRequest AdmissionOf(const ApiRequest& request, const Kind& kind,
                                           Operation operation);
// Upstream's check of the namespace of a body; cluster-scoped objects lose theirs.
[[nodiscard]] Status MatchNamespace(const Kind& kind, const std::string& ns, json::Value& object);

}  // namespace drachma::apiserver
