#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "base/result.h"
#include "json/value.h"
#include "store/store.h"

namespace drachma::apiserver {

// Which pods are bound to which node: what a kubelet may read depends on its pods, and a namespace
// may hold very many of others. Follows the store and catches up when it is asked.
//
// Used on one executor. The store must outlive it.
class PodsOfNodes {
 public:
  explicit PodsOfNodes(store::Store& store) : store_(store) {}

  // Whether `fits` holds for a pod of namespace `ns` that is bound to `node`.
  [[nodiscard]] bool Any(std::string_view node, std::string_view ns,
                         const std::function<bool(const json::Value& pod)>& fits);

 private:
  void CatchUp();
  void Restart();
  void Note(const std::string& key, const json::Value& pod);
  void Forget(const std::string& key);

  store::Store& store_;
  std::unique_ptr<store::Watch> watch_;  // null until the first question, and after a gap
  std::unordered_map<std::string, std::string> node_of_;  // key of a pod -> its node
  std::unordered_map<std::string, std::unordered_set<std::string>> pods_of_;
};

}  // namespace drachma::apiserver
