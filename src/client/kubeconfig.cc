#include "client/kubeconfig.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <utility>

#include "json/value.h"
#include "json/yaml.h"
#include "net/certificates.h"

namespace drachma::client {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::optional<std::string> Base64Decode(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r' || c == ' ') continue;
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> static_cast<unsigned>(count) & 0xFFU);
  }
  return out;
}

std::string Base64Encode(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      const std::uint32_t digit = bits >> (18U - 6U * static_cast<unsigned>(j)) & 0x3FU;
      out += i + j > bytes.size() ? '=' : kAlphabet[digit];
    }
  }
  return out;
}

// An entry of "clusters", "users" or "contexts" with the file it stands in.
struct Entry {
  json::Value value;
  std::string file;
};

std::unexpected<Error> Unusable(const Entry& entry, std::string_view what, std::string_view name,
                                std::string_view why) {
  return Fail(Code::kInvalid,
              fmt::format("kubeconfig {}: {} \"{}\": {}", entry.file, what, name, why));
}

class Reader {
 public:
  Status Add(const std::string& file, const std::string& text) {
    auto document = json::ReadYamlValue(text);
    if (!document) {
      return Fail(Code::kInvalid, fmt::format("kubeconfig {}: {}", file, document.error().message));
    }
    if (!document->IsNull() && !document->IsObject()) {
      return Fail(Code::kInvalid, fmt::format("kubeconfig {}: not a mapping", file));
    }
    if (current_.empty()) current_ = (*document)["current-context"].AsString();
    struct Section {
      std::string_view list;
      std::string_view member;
      std::map<std::string, Entry>* entries;
    };
    for (const Section& section :
         {Section{"clusters", "cluster", &clusters_}, Section{"users", "user", &users_},
          Section{"contexts", "context", &contexts_}}) {
      for (const json::Value& item : (*document)[section.list].Items()) {
        section.entries->try_emplace(std::string(item["name"].AsString()),
                                     Entry{.value = item[section.member], .file = file});
      }
    }
    return {};
  }

  Result<KubeConfig> Resolve(std::string context_name) const {
    if (context_name.empty()) context_name = current_;
    KubeConfig config;
    config.context = context_name;
    if (context_name.empty()) {
      // client-go accepts a file with exactly one cluster and no context.
      return Fail(Code::kInvalid, "kubeconfig: no current-context is set; use --context");
    }
    const auto context = contexts_.find(context_name);
    if (context == contexts_.end()) {
      return Fail(Code::kInvalid,
                  fmt::format("kubeconfig: context \"{}\" does not exist", context_name));
    }
    const json::Value& value = context->second.value;
    if (const auto ns = value["namespace"].AsString(); !ns.empty()) config.ns = ns;
    const std::string cluster_name(value["cluster"].AsString());
    const auto cluster = clusters_.find(cluster_name);
    if (cluster == clusters_.end()) {
      return Unusable(context->second, "context", context_name,
                      fmt::format("cluster \"{}\" does not exist", cluster_name));
    }
    DRA_TRY(ReadCluster(cluster->second, cluster_name, config));
    const std::string user_name(value["user"].AsString());
    if (user_name.empty()) return config;
    const auto user = users_.find(user_name);
    if (user == users_.end()) {
      return Unusable(context->second, "context", context_name,
                      fmt::format("user \"{}\" does not exist", user_name));
    }
    DRA_TRY(ReadUser(user->second, user_name, config));
    return config;
  }

 private:
  // The bytes of "<key>-data" (base64), or of the file that "<key>" names, or nothing.
  static Result<std::string> Data(const Entry& entry, std::string_view what, std::string_view name,
                                  const std::string& key) {
    if (const auto data = entry.value[key + "-data"].AsString(); !data.empty()) {
      auto bytes = Base64Decode(data);
      if (!bytes) return Unusable(entry, what, name, key + "-data is not base64");
      return *std::move(bytes);
    }
    const auto path = entry.value[key].AsString();
    if (path.empty()) return std::string();
    return FileOf(entry, what, name, key, std::string(path));
  }

  static Result<std::string> FileOf(const Entry& entry, std::string_view what,
                                    std::string_view name, const std::string& key,
                                    const std::string& path) {
    const fs::path full = fs::path(entry.file).parent_path() / path;  // absolute ones stay
    auto text = net::ReadFile(full.string());
    if (!text) {
      return Unusable(entry, what, name, fmt::format("{}: {}", key, text.error().message));
    }
    return text;
  }

  static Status ReadCluster(const Entry& entry, const std::string& name, KubeConfig& config) {
    config.server = entry.value["server"].AsString();
    if (config.server.empty()) return Unusable(entry, "cluster", name, "no server is set");
    if (!config.server.starts_with("https://") && !config.server.starts_with("http://")) {
      return Unusable(entry, "cluster", name,
                      fmt::format("server \"{}\" is no http(s) URL", config.server));
    }
    while (config.server.ends_with('/')) config.server.pop_back();
    config.tls_server_name = entry.value["tls-server-name"].AsString();
    config.proxy_url = entry.value["proxy-url"].AsString();
    config.insecure_skip_tls_verify = entry.value["insecure-skip-tls-verify"].AsBool();
    DRA_ASSIGN(config.ca_pem, Data(entry, "cluster", name, "certificate-authority"));
    if (config.insecure_skip_tls_verify && !config.ca_pem.empty()) {
      return Unusable(entry, "cluster", name,
                      "insecure-skip-tls-verify and certificate-authority exclude each other");
    }
    return {};
  }

  static Status ReadUser(const Entry& entry, const std::string& name, KubeConfig& config) {
    const json::Value& user = entry.value;
    for (const std::string_view unsupported : {"exec", "auth-provider"}) {
      if (user.Has(unsupported)) {
        return Unusable(
            entry, "user", name,
            fmt::format("{} is not supported: give a certificate or a token", unsupported));
      }
    }
    DRA_ASSIGN(config.certificate_pem, Data(entry, "user", name, "client-certificate"));
    DRA_ASSIGN(config.key_pem, Data(entry, "user", name, "client-key"));
    if (config.certificate_pem.empty() != config.key_pem.empty()) {
      return Unusable(entry, "user", name, "client-certificate and client-key go together");
    }
    config.token = user["token"].AsString();
    if (const auto file = user["tokenFile"].AsString(); config.token.empty() && !file.empty()) {
      DRA_ASSIGN(config.token, FileOf(entry, "user", name, "tokenFile", std::string(file)));
      while (config.token.ends_with('\n')) config.token.pop_back();
    }
    config.username = user["username"].AsString();
    config.password = user["password"].AsString();
    config.impersonate_user = user["as"].AsString();
    for (const json::Value& group : user["as-groups"].Items()) {
      config.impersonate_groups.emplace_back(group.AsString());
    }
    return {};
  }

  std::string current_;
  std::map<std::string, Entry> clusters_;
  std::map<std::string, Entry> users_;
  std::map<std::string, Entry> contexts_;
};

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::vector<std::string> FilesOf(const KubeConfigSources& sources) {
  if (!sources.flag.empty()) return {sources.flag};
  std::vector<std::string> files;
  for (std::size_t begin = 0; begin < sources.environment.size();) {
    const std::size_t end =
        std::min(sources.environment.find(':', begin), sources.environment.size());
    if (end > begin) files.push_back(sources.environment.substr(begin, end - begin));
    begin = end + 1;
  }
  if (files.empty() && !sources.home.empty()) {
    files.push_back((fs::path(sources.home) / ".kube" / "config").string());
  }
  return files;
}

// The configuration of a pod. ERRORS: kNotFound naming the file of the service account.
Result<KubeConfig> ConfigOfPod(const KubeConfigSources& sources) {
  const bool v6 = sources.service_host.find(':') != std::string::npos;
  KubeConfig config;
  config.context = "in-cluster";
  config.server = fmt::format("https://{}{}{}:{}", v6 ? "[" : "", sources.service_host,
                              v6 ? "]" : "", sources.service_port);
  config.token_file = sources.service_account + "/token";
  for (const auto& [file, content] :
       {std::pair("ca.crt", &config.ca_pem), std::pair("namespace", &config.ns),
        std::pair("token", &config.token)}) {
    const std::string path = fmt::format("{}/{}", sources.service_account, file);
    auto text = net::ReadFile(path);
    if (!text) {
      return Fail(text.error().code,
                  fmt::format("the pod's service account: {}: {}", path, text.error().message));
    }
    *content = *std::move(text);
  }
  return config;
}

}  // namespace

KubeConfigSources SourcesFromEnvironment(std::string flag) {
  return {.flag = std::move(flag),
          .environment = Environment("KUBECONFIG"),
          .home = Environment("HOME"),
          .context = {},
          .service_host = Environment("KUBERNETES_SERVICE_HOST"),
          .service_port = Environment("KUBERNETES_SERVICE_PORT"),
          .service_account = "/var/run/secrets/kubernetes.io/serviceaccount"};
}

Result<KubeConfig> LoadKubeConfig(const KubeConfigSources& sources) {
  std::vector<std::pair<std::string, std::string>> files;
  std::string looked_at;
  for (const std::string& path : FilesOf(sources)) {
    auto text = net::ReadFile(path);
    if (text) {
      files.emplace_back(path, *std::move(text));
    } else if (text.error().code == Code::kNotFound && sources.flag.empty()) {
      looked_at +=
          (looked_at.empty() ? "" : ", ") + path;  // as client-go, missing ones are skipped
    } else {
      return Fail(text.error().code, fmt::format("kubeconfig {}: {}", path, text.error().message));
    }
  }
  if (files.empty() && !sources.service_host.empty()) return ConfigOfPod(sources);
  if (files.empty()) {
    return Fail(Code::kNotFound,
                fmt::format("no kubeconfig: give --kubeconfig or set KUBECONFIG (looked at {})",
                            looked_at.empty() ? "nothing: HOME is not set" : looked_at));
  }
  return ParseKubeConfig(files, sources.context);
}

Result<KubeConfig> ParseKubeConfig(const std::vector<std::pair<std::string, std::string>>& files,
                                   const std::string& context) {
  Reader reader;
  for (const auto& [path, text] : files) DRA_TRY(reader.Add(path, text));
  return reader.Resolve(context);
}

std::string WriteKubeConfig(const KubeConfig& config, std::string_view name) {
  using json::Value;
  Value cluster = Value::Object({{"server", config.server}});
  if (!config.ca_pem.empty()) {
    cluster.Set("certificate-authority-data", Base64Encode(config.ca_pem));
  }
  if (!config.tls_server_name.empty()) cluster.Set("tls-server-name", config.tls_server_name);
  if (config.insecure_skip_tls_verify) cluster.Set("insecure-skip-tls-verify", true);
  Value user = Value::Object();
  if (!config.certificate_pem.empty()) {
    user.Set("client-certificate-data", Base64Encode(config.certificate_pem));
    user.Set("client-key-data", Base64Encode(config.key_pem));
  }
  if (!config.token.empty()) user.Set("token", config.token);
  Value context = Value::Object({{"cluster", name}, {"user", name}});
  if (config.ns != "default") context.Set("namespace", config.ns);
  const auto named = [name](std::string_view member, Value value) {
    return Value::Array({Value::Object({{"name", name}, {member, std::move(value)}})});
  };
  return json::WriteYaml(Value::Object({{"apiVersion", "v1"},
                                        {"kind", "Config"},
                                        {"clusters", named("cluster", std::move(cluster))},
                                        {"users", named("user", std::move(user))},
                                        {"contexts", named("context", std::move(context))},
                                        {"current-context", name}}));
}

}  // namespace drachma::client
