#include "cli/session.h"

#include <future>
#include <utility>

#include "client/kubeconfig.h"

namespace drachma::cli {

Result<std::unique_ptr<Session>> Session::Open(const std::string& kubeconfig) {
  DRA_ASSIGN(client::KubeConfig config,
             client::LoadKubeConfig(client::SourcesFromEnvironment(kubeconfig)));
  std::string ns = config.ns;
  DRA_ASSIGN(std::unique_ptr<client::HttpsClientFactory> factory,
             client::HttpsClientFactory::Make(std::move(config)));
  return std::unique_ptr<Session>(new Session(std::move(factory), std::move(ns)));
}

Session::Session(std::unique_ptr<client::HttpsClientFactory> factory, std::string ns)
    : ns_(std::move(ns)), factory_(std::move(factory)), executor_("command") {
  Post([](client::Client&) {});
}

Session::~Session() {
  std::promise<void> done;
  executor_.Post([&] {
    client_.reset();
    done.set_value();
  });
  done.get_future().get();
}

void Session::Post(std::move_only_function<void(client::Client&)> task) {
  executor_.Post([this, task = std::move(task)]() mutable {
    if (!client_) client_ = factory_->NewClient(executor_, "drachma");
    task(*client_);
  });
}

Result<json::Value> Session::Call(client::Request request) {
  std::promise<Result<json::Value>> answer;
  Post([&](client::Client& client) {
    client.Call(std::move(request),
                [&](Result<json::Value> result) { answer.set_value(std::move(result)); });
  });
  return answer.get_future().get();
}

Result<std::vector<json::Value>> Session::ListAll(const client::Resource& resource) {
  Result<json::Value> list = Call({.verb = client::Verb::kList, .resource = resource});
  if (!list && list.error().code == Code::kNotFound) return std::vector<json::Value>();
  if (!list) return std::unexpected(list.error());
  const auto items = (*list)["items"].Items();
  return std::vector<json::Value>(items.begin(), items.end());
}

}  // namespace drachma::cli
