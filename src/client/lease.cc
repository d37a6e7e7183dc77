#include "client/lease.h"

#include <utility>

namespace drachma::client {
namespace {

const Resource kLeases{.group = "coordination.k8s.io", .version = "v1", .plural = "leases"};
constexpr std::string_view kNodeLeaseNamespace = "kube-node-lease";

json::Value NewLease(std::string_view ns, std::string_view name) {
  return json::Value::Object(
      {{"apiVersion", "coordination.k8s.io/v1"},
       {"kind", "Lease"},
       {"metadata", json::Value::Object({{"name", name}, {"namespace", ns}})},
       {"spec", json::Value::Object()}});
}

}  // namespace

NodeHeartbeat::NodeHeartbeat(Client& client, std::string node_name, std::string node_uid)
    : client_(client), node_name_(std::move(node_name)), node_uid_(std::move(node_uid)) {}
NodeHeartbeat::~NodeHeartbeat() { client_.executor().Cancel(timer_); }

void NodeHeartbeat::Start() { Beat(); }

void NodeHeartbeat::Beat() {
  Write(false);
  timer_ = client_.executor().PostAfter(kInterval, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Beat();
  });
}

// Renews the lease by a patch; creates it where there is none.
void NodeHeartbeat::Write(bool create) {
  Request request{.verb = create ? Verb::kCreate : Verb::kPatch, .resource = kLeases};
  request.ns = kNodeLeaseNamespace;
  json::Value spec =
      json::Value::Object({{"holderIdentity", node_name_},
                           {"leaseDurationSeconds", kLeaseSeconds},
                           {"renewTime", FormatMicroTime(client_.executor().clock().Now())}});
  if (create) {
    request.body = NewLease(kNodeLeaseNamespace, node_name_);
    request.body.Set("spec", std::move(spec));
    request.body.Edit("metadata")
        .Set("ownerReferences", json::Value::Array({json::Value::Object({{"apiVersion", "v1"},
                                                                         {"kind", "Node"},
                                                                         {"name", node_name_},
                                                                         {"uid", node_uid_}})}));
  } else {
    request.name = node_name_;
    request.patch = PatchType::kMerge;
    request.body = json::Value::Object({{"spec", std::move(spec)}});
  }
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_), create](const Result<json::Value>& answer) {
                 if (alive.expired() || create || answer) return;
                 if (answer.error().code == Code::kNotFound) Write(true);
               });
}

LeaderElector::LeaderElector(Client& client, Options options)
    : client_(client), options_(std::move(options)) {}
LeaderElector::~LeaderElector() { client_.executor().Cancel(timer_); }

void LeaderElector::Start(std::function<void()> on_leading, std::function<void()> on_lost) {
  on_leading_ = std::move(on_leading);
  on_lost_ = std::move(on_lost);
  Attempt();
}

void LeaderElector::Attempt() {
  Request request{.verb = Verb::kGet, .resource = kLeases};
  request.ns = options_.ns;
  request.name = options_.name;
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_)](Result<json::Value> lease) {
                 if (!alive.expired()) OnLease(std::move(lease));
               });
}

void LeaderElector::OnLease(Result<json::Value> lease) {
  const Duration now = client_.executor().clock().Monotonic();
  if (!lease) {
    if (lease.error().code == Code::kNotFound) {
      Take(NewLease(options_.ns, options_.name), false);
    } else {
      OnWritten(std::move(lease));
    }
    return;
  }
  const std::string_view holder = lease->At({"spec", "holderIdentity"}).AsString();
  const std::string_view version = lease->At({"metadata", "resourceVersion"}).AsString();
  if (observed_ != version) {
    observed_ = version;
    observed_at_ = now;
  }
  const bool expired = now - observed_at_ >= kLeaseDuration;
  if (holder.empty() || holder == options_.identity || expired) {
    Take(*std::move(lease), true);
  } else {
    OnWritten(Fail(Code::kConflict, "held by another"));
  }
}

void LeaderElector::Take(json::Value lease, bool exists) {
  const std::string now = FormatMicroTime(client_.executor().clock().Now());
  json::Value& spec = lease.Edit("spec");
  if (spec["holderIdentity"].AsString() != options_.identity) {
    spec.Set("leaseTransitions", spec["leaseTransitions"].AsInt() + (exists ? 1 : 0));
    spec.Set("holderIdentity", options_.identity);
    spec.Set("acquireTime", now);
  }
  spec.Set("leaseDurationSeconds",
           std::chrono::duration_cast<std::chrono::seconds>(kLeaseDuration).count());
  spec.Set("renewTime", now);
  Request request{.verb = exists ? Verb::kUpdate : Verb::kCreate, .resource = kLeases};
  request.ns = options_.ns;
  if (exists) request.name = options_.name;
  request.body = std::move(lease);
  client_.Call(std::move(request),
               [this, alive = std::weak_ptr(alive_)](const Result<json::Value>& written) {
                 if (!alive.expired()) OnWritten(written);
               });
}

void LeaderElector::OnWritten(const Result<json::Value>& lease) {
  const Duration now = client_.executor().clock().Monotonic();
  if (lease) {
    renewed_ = now;
    if (!std::exchange(leading_, true)) on_leading_();
  } else if (leading_ && now - renewed_ >= kRenewDeadline) {
    leading_ = false;
    on_lost_();
  }
  Again();
}

void LeaderElector::Again() {
  timer_ = client_.executor().PostAfter(kRetryPeriod, [this, alive = std::weak_ptr(alive_)] {
    if (!alive.expired()) Attempt();
  });
}

}  // namespace drachma::client
