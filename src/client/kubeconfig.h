#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drachma::client {

// How to reach one API server, and as whom: one context of a kubeconfig, with all files read.
struct KubeConfig {
  std::string context;
  std::string server;  // "https://127.0.0.1:6443", without a slash at the end
  std::string ca_pem;  // empty: the system's certificates
  std::string tls_server_name;
  std::string proxy_url;
  bool insecure_skip_tls_verify = false;
  std::string certificate_pem;
  std::string key_pem;
  std::string token;
  // Read anew for each request and used instead of `token`: a kubelet replaces the tokens of pods
  // before they end.
  std::string token_file;
  std::string username;
  std::string password;
  std::string ns = "default";
  // client-go's impersonation: sent as Impersonate-User and Impersonate-Group.
  std::string impersonate_user;
  std::vector<std::string> impersonate_groups;
};

// What of the process's surroundings a kubeconfig is found by.
struct KubeConfigSources {
  std::string flag;         // --kubeconfig; wins when not empty
  std::string environment;  // $KUBECONFIG: files separated by ':'; the first to name a thing wins
  std::string home;         // $HOME: its .kube/config is the last resort
  std::string context;      // --context; empty: the file's current-context
  // Within a pod: $KUBERNETES_SERVICE_HOST and _PORT, and the folder of the service account. Used
  // when there is no file (client-go's in-cluster configuration).
  std::string service_host = {};
  std::string service_port = {};
  std::string service_account = {};
};
// From the environment of this process.
[[nodiscard]] KubeConfigSources SourcesFromEnvironment(std::string flag);

// Loads and resolves the configuration. ERRORS: kNotFound without any file (naming the places that
// were looked at), kInvalid naming file and entry that cannot be used.
[[nodiscard]] Result<KubeConfig> LoadKubeConfig(const KubeConfigSources& sources);
// The same from the texts of files, each with its path (for messages and relative file names).
[[nodiscard]] Result<KubeConfig> ParseKubeConfig(
    const std::vector<std::pair<std::string, std::string>>& files, const std::string& context);

// A kubeconfig with one cluster, user and context, all named `name`; data inline.
[[nodiscard]] std::string WriteKubeConfig(const KubeConfig& config, std::string_view name);

}  // namespace drachma::client
