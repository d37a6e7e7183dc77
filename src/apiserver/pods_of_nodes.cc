#include "apiserver/pods_of_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace drachma::apiserver {
namespace {

constexpr std::string_view kPods = "/registry/pods/";

}  // namespace

bool PodsOfNodes::Any(std::string_view node, std::string_view ns,
                      const std::function<bool(const json::Value& pod)>& fits) {
  CatchUp();
  const auto pods = pods_of_.find(std::string(node));
  if (pods == pods_of_.end()) return false;
  const std::string prefix = fmt::format("{}{}/", kPods, ns);
  return std::ranges::any_of(pods->second, [&](const std::string& key) {
    if (!key.starts_with(prefix)) return false;
    const store::RecordPtr record = store_.Get(key);
    return record != nullptr && fits(record->Object());
  });
}

void PodsOfNodes::CatchUp() {
  if (watch_ == nullptr) Restart();
  if (watch_ == nullptr) return;
  const Result<store::WatchBatch> batch = watch_->Take();
  if (!batch) {
    watch_.reset();
    return CatchUp();
  }
  for (const store::EventPtr& event : batch->events) {
    if (event->type == store::EventType::kDeleted) {
      Forget(event->key());
    } else {
      Note(event->key(), event->record->Object());
    }
  }
}

void PodsOfNodes::Restart() {
  node_of_.clear();
  pods_of_.clear();
  const Result<store::Page> page = store_.List(kPods);
  if (!page) return;
  for (const store::RecordPtr& record : page->records) Note(record->key, record->Object());
  auto watch = store_.Subscribe(kPods, page->revision, [] {});
  if (watch) watch_ = std::move(*watch);
}

void PodsOfNodes::Note(const std::string& key, const json::Value& pod) {
  const std::string_view node = pod["spec"]["nodeName"].AsString();
  if (node.empty()) return;
  const auto [known, added] = node_of_.try_emplace(key, node);
  if (!added && known->second != node) {
    pods_of_[known->second].erase(key);
    known->second = node;
  }
  pods_of_[known->second].insert(key);
}

void PodsOfNodes::Forget(const std::string& key) {
  const auto known = node_of_.find(key);
  if (known == node_of_.end()) return;
  const auto pods = pods_of_.find(known->second);
  pods->second.erase(key);
  if (pods->second.empty()) pods_of_.erase(pods);
  node_of_.erase(known);
}

}  // namespace drachma::apiserver
