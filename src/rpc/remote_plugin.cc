#include "rpc/remote_plugin.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>

#include "client/objects.h"
#include "pluginregistration.grpc.pb.h"
#include "rpc/convert.h"

namespace drachma::rpc {
namespace {

using json::Value;

// Between attempts to reach a driver that has ended; the next one is there soon.
constexpr int kReconnectMsMin = 100;
constexpr int kReconnectMsMax = 2000;

std::shared_ptr<grpc::Channel> Connect(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMsMin);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kReconnectMsMin);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

void SetDeadline(grpc::ClientContext& context, Duration timeout) {
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

Error ErrorOf(const grpc::Status& status) {
  const bool late = status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return {.code = late ? Code::kTimeout : Code::kUnavailable, .message = status.error_message()};
}

// The calls under way of a plugin. Any thread.
class CallsUnderWay {
 public:
  // False when there are too many.
  [[nodiscard]] bool Add(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    if (contexts_.size() >= RemotePlugin::kCallsMax) return false;
    contexts_.insert(context);
    return true;
  }
  // The call is over; nothing of the plugin is touched by it any more.
  void Remove(grpc::ClientContext* context) {
    const std::lock_guard lock(mutex_);
    contexts_.erase(context);
    if (contexts_.empty()) none_.notify_all();
  }
  void CancelAll() {
    std::unique_lock lock(mutex_);
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
    none_.wait(lock, [&] { return contexts_.empty(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable none_;
  std::set<grpc::ClientContext*> contexts_;
};

// What the answer says of `claim`. `read` turns what is no error into the result.
template <typename Result, typename Response, typename Read>
Result AnswerFor(const node::ClaimRef& claim, const grpc::Status& status, const Response& response,
                 Read read) {
  if (!status.ok()) return std::unexpected(ErrorOf(status));
  const auto answer = response.claims().find(claim.uid);
  if (answer == response.claims().end()) {
    return Fail(Code::kUnknown, fmt::format("the driver did not answer claim {}", claim.name));
  }
  if (!answer->second.error().empty()) return Fail(Code::kUnknown, answer->second.error());
  return read(answer->second);
}

}  // namespace

// The calls of whichever version the driver speaks.
class RemotePlugin::Stubs {
 public:
  virtual ~Stubs() = default;
  virtual void Prepare(std::vector<node::ClaimRef> claims, PrepareDone done) = 0;
  virtual void Unprepare(std::vector<node::ClaimRef> claims, UnprepareDone done) = 0;
};

template <typename Api>
class RemotePlugin::StubsOf final : public Stubs {
 public:
  StubsOf(const std::string& endpoint, Executor& executor)
      : executor_(executor), stub_(Api::Plugin::NewStub(Connect(endpoint))) {}
  ~StubsOf() override { calls_.CancelAll(); }

  void Prepare(std::vector<node::ClaimRef> claims, PrepareDone done) override {
    using Request = typename Api::PrepareRequest;
    using Response = typename Api::PrepareResponse;
    Send<Request, Response>(
        std::move(claims), std::move(done),
        [this](auto... arguments) { stub_->async()->NodePrepareResources(arguments...); },
        [](const auto& answer) {
          std::vector<node::PreparedDevice> devices;
          for (const auto& device : answer.devices()) devices.push_back(ReadDevice(device));
          return node::PrepareResult(std::move(devices));
        });
  }

  void Unprepare(std::vector<node::ClaimRef> claims, UnprepareDone done) override {
    using Request = typename Api::UnprepareRequest;
    using Response = typename Api::UnprepareResponse;
    Send<Request, Response>(
        std::move(claims), std::move(done),
        [this](auto... arguments) { stub_->async()->NodeUnprepareResources(arguments...); },
        [](const auto&) { return Status(); });
  }

 private:
  template <typename Request, typename Response, typename Done>
  struct Call {
    std::vector<node::ClaimRef> claims;
    Done done;
    grpc::ClientContext context;
    Request request;
    Response response;
  };

  template <typename Request, typename Response, typename Answer, typename Start, typename Read>
  void Send(std::vector<node::ClaimRef> claims, std::move_only_function<void(Answer)> done,
            Start start, Read read) {
    auto call = std::make_shared<Call<Request, Response, std::move_only_function<void(Answer)>>>();
    call->claims = std::move(claims);
    call->done = std::move(done);
    for (const node::ClaimRef& claim : call->claims) AddClaim(claim, call->request);
    SetDeadline(call->context, kCallTimeout);
    const auto finish = [call, read](const grpc::Status& status) {
      Answer answer;
      for (const node::ClaimRef& claim : call->claims) {
        using One = typename Answer::mapped_type;
        answer.insert_or_assign(claim.uid, AnswerFor<One>(claim, status, call->response, read));
      }
      call->done(std::move(answer));
    };
    if (!calls_.Add(&call->context)) {
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "too many calls are under way"});
    }
    start(&call->context, &call->request, &call->response,
          [this, call, finish](const grpc::Status& status) {
            executor_.Post([finish, status, alive = std::weak_ptr(alive_)] {
              if (!alive.expired()) finish(status);
            });
            calls_.Remove(&call->context);
          });
  }

  Executor& executor_;
  const std::unique_ptr<typename Api::Plugin::Stub> stub_;
  CallsUnderWay calls_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

Result<PluginInfo> AskPlugin(const std::string& registration_socket) {
  grpc::ClientContext context;
  SetDeadline(context, kInfoTimeout);
  pluginregistration::PluginInfo answer;
  const grpc::Status status =
      pluginregistration::Registration::NewStub(Connect(registration_socket))
          ->GetInfo(&context, {}, &answer);
  if (!status.ok()) return std::unexpected(ErrorOf(status));
  PluginInfo info{
      .driver = answer.name(),
      .endpoint = answer.endpoint(),
      .services = {answer.supported_versions().begin(), answer.supported_versions().end()}};
  const bool known = std::ranges::any_of(info.services, [](const std::string& service) {
    return service == V1::kService || service == V1beta1::kService;
  });
  if (answer.type() != "DRAPlugin" || !known) {
    return Fail(Code::kInvalid, fmt::format("{}: {} {} is no DRA driver of a known version",
                                            registration_socket, answer.type(), answer.name()));
  }
  return info;
}

Status NotifyPlugin(const std::string& registration_socket, const Status& taken) {
  grpc::ClientContext context;
  SetDeadline(context, kNotifyTimeout);
  pluginregistration::RegistrationStatus request;
  request.set_plugin_registered(taken.has_value());
  if (!taken) request.set_error(taken.error().message);
  pluginregistration::RegistrationStatusResponse answer;
  const grpc::Status status =
      pluginregistration::Registration::NewStub(Connect(registration_socket))
          ->NotifyRegistrationStatus(&context, request, &answer);
  if (!status.ok()) return std::unexpected(ErrorOf(status));
  return {};
}

RemotePlugin::RemotePlugin(const PluginInfo& info, Executor& executor)
    : driver_(info.driver),
      stubs_(std::ranges::find(info.services, V1::kService) != info.services.end()
                 ? std::unique_ptr<Stubs>(std::make_unique<StubsOf<V1>>(info.endpoint, executor))
                 : std::make_unique<StubsOf<V1beta1>>(info.endpoint, executor)) {}

RemotePlugin::~RemotePlugin() = default;

void RemotePlugin::Prepare(std::span<const Value> claims, PrepareDone done) {
  std::vector<node::ClaimRef> refs;
  for (const Value& claim : claims) {
    refs.push_back({.ns = std::string(client::NamespaceOf(claim)),
                    .name = std::string(client::NameOf(claim)),
                    .uid = std::string(client::UidOf(claim))});
  }
  stubs_->Prepare(std::move(refs), std::move(done));
}

void RemotePlugin::Unprepare(std::span<const node::ClaimRef> claims, UnprepareDone done) {
  stubs_->Unprepare({claims.begin(), claims.end()}, std::move(done));
}

Result<std::vector<std::unique_ptr<node::DraPlugin>>> RegisteredPlugins(const std::string& registry,
                                                                        Executor& executor) {
  std::vector<std::unique_ptr<node::DraPlugin>> plugins;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(registry, error)) {
    if (!entry.is_socket(error)) continue;
    DRA_ASSIGN(const PluginInfo info, AskPlugin(entry.path()));
    DRA_TRY(NotifyPlugin(entry.path(), {}));
    plugins.push_back(std::make_unique<RemotePlugin>(info, executor));
  }
  if (plugins.empty()) {
    return Fail(Code::kUnavailable, fmt::format("{}: no driver has a socket there", registry));
  }
  return plugins;
}

}  // namespace drachma::rpc
