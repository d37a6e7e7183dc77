#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "apiserver/admission.h"
#include "apiserver/auth.h"
#include "apiserver/limits.h"
#include "apiserver/user.h"
#include "base/executor.h"
#include "base/result.h"
#include "client/client.h"

namespace drachma::apiserver {

// How a server is put together. The defaults are those of `drachma up` without flags.
struct Options {
  // Folder of the database, the CA, the certificates and the kubeconfig. Empty: nothing is kept,
  // the store and the certificates live in memory.
  std::string data_dir;
  // HOST:PORT of the HTTPS front; port 0 takes a free one. Empty: no front, only clients in
  // process.
  std::string listen = "127.0.0.1:6443";
  // Where the admin kubeconfig is written; empty: `data_dir`/kubeconfig (none without a data_dir).
  std::string kubeconfig;

  // Runs the server's core. Null: a thread of its own with the system's clock. `plan` gives its
  // VirtualExecutor: then nothing here starts a thread (REQUIRES: listen and data_dir are empty).
  Executor* executor = nullptr;
  // Seed of names, uids; 0 seeds from the operating system.
  std::uint64_t seed = 0;

  // Upstream's feature gates that differ from their defaults.
  std::map<std::string, bool> feature_gates;
  // Upstream's --runtime-config, see runtime_config.h; empty: every version is served.
  std::string runtime_config;
  // Upstream's --enable-admission-plugins and --disable-admission-plugins.
  std::vector<std::string> enable_admission;
  std::vector<std::string> disable_admission;
  // Further plugins, run after the built-in ones and before ResourceQuota.
  std::vector<std::shared_ptr<AdmissionPlugin>> admission;
  std::vector<std::shared_ptr<AsyncAdmission>> webhooks;

  // Upstream's --token-auth-file: lines "token,user,uid[,"group1,group2"]".
  std::string token_auth_file;
  // Upstream's --audit-log-path and --audit-policy-file. No path: nothing is recorded; no policy:
  // metadata of every request.
  std::string audit_log_path;
  std::string audit_policy_file;
  // Asked before the built-in ones.
  std::vector<std::shared_ptr<Authenticator>> authenticators;
  std::vector<std::shared_ptr<Authorizer>> authorizers;

  Limits limits;
  // The version that /version names, 1.`emulated_minor` (upstream's --emulated-version).
  int emulated_minor = 37;
};

// A Kubernetes API server in this process: store, REST, admission, and (unless `listen` is empty)
// an HTTPS front. Create, NewClientFactory and the getters may be called from any thread.
// Destruction shuts down gracefully: running requests finish, watches end, the store is closed.
// REQUIRES: clients in process are destroyed before the server.
class Server {
 public:
  // Opens or creates the store, makes certificates, writes the kubeconfig, creates upstream's
  // bootstrap objects and listens. With an executor of the caller (virtual time) the bootstrap
  // objects are there on return, too.
  // ERRORS: kInternal or kUnavailable with what failed: folder in use, port taken, schema too new.
  [[nodiscard]] static Result<std::unique_ptr<Server>> Create(Options options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Clients in process that act as `user`: no serialisation, but the same checks as over HTTPS.
  // The factory must not outlive the server.
  [[nodiscard]] std::unique_ptr<client::ClientFactory> NewClientFactory(User user);

  // "https://127.0.0.1:6443"; empty without an HTTPS front.
  [[nodiscard]] const std::string& url() const;
  // Where the kubeconfig was written; empty when it was not.
  [[nodiscard]] const std::string& kubeconfig_path() const;
  // The text of the admin kubeconfig; empty without an HTTPS front.
  [[nodiscard]] const std::string& kubeconfig() const;
  // A kubeconfig whose client certificate says `user` (roles of their own process).
  // ERRORS: kUnavailable without an HTTPS front.
  [[nodiscard]] Result<std::string> KubeconfigFor(const User& user) const;

  // Whether /readyz says ok. The server is ready after Create unless it is told otherwise: `up`
  // holds readiness back until its fleet and manifests are in place.
  void SetReady(bool ready);
  // Adds a source of lines to /metrics (Prometheus text format), called on a thread of the front.
  void AddMetrics(std::function<std::string()> source);

 private:
  Server();
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace drachma::apiserver
