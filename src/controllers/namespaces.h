#pragma once

#include <map>
#include <memory>
#include <string>

#include "controllers/collecting_controller.h"

namespace drachma::controllers {

// Empties a namespace that is being deleted, pods first, and lets it go when nothing is left of any
// kind, custom ones too (k8s.io/kubernetes/pkg/controller/namespace). Keys are names.
class NamespaceController final : public CollectingController {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<NamespaceController>(host);
  }
  explicit NamespaceController(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  void OnChange(std::size_t kind, const client::Change& change) override;
  [[nodiscard]] Action DeleteAll(const client::Resource& resource, const std::string& ns);
  void DeleteContent(const std::string& ns, Work& work);
  void NoteConditions(const json::Value& ns, Work& work) const;
  [[nodiscard]] static Action Finalize(const json::Value& ns);

  Cache& namespaces_;
  // Why deletions failed, by namespace and resource.
  std::map<std::string, std::map<client::Resource, std::string>, std::less<>> failures_;
};

// Gives every namespace its ServiceAccount "default" (k8s.io/kubernetes/pkg/controller/
// serviceaccount). Keys are names of namespaces.
class NamespaceDefaults final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<NamespaceDefaults>(host);
  }
  explicit NamespaceDefaults(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  Cache& namespaces_;
  Cache& accounts_;
};

// Keeps the ConfigMap kube-root-ca.crt in every namespace (k8s.io/kubernetes/pkg/controller/
// certificates/rootcacertpublisher). Keys are names of namespaces.
class RootCaPublisher final : public Controller {
 public:
  static std::unique_ptr<Controller> Make(Host& host) {
    return std::make_unique<RootCaPublisher>(host);
  }
  explicit RootCaPublisher(Host& host);

  [[nodiscard]] Work Sync(const std::string& key) override;

 private:
  Cache& namespaces_;
  Cache& config_maps_;
};

}  // namespace drachma::controllers
