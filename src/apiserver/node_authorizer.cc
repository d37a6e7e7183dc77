#include "apiserver/node_authorizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "apiserver/rbac.h"
#include "json/value.h"

namespace drachma::apiserver {
namespace {

using json::Value;

constexpr std::string_view kNodePrefix = "system:node:";
constexpr std::string_view kNodeLeases = "kube-node-lease";

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

// --- What a pod refers to.

bool Names(const Value& list, std::initializer_list<std::string_view> path, std::string_view name) {
  return std::ranges::any_of(list.Items(),
                             [&](const Value& item) { return item.At(path).AsString() == name; });
}

bool VolumesName(const Value& pod, std::initializer_list<std::string_view> path,
                 std::string_view name) {
  return Names(pod["spec"]["volumes"], path, name);
}

// Whether a container's environment or a projected volume names it: `from` is "configMapRef" or
// "secretRef", `key` is "configMapKeyRef" or "secretKeyRef", `projection` "configMap" or "secret".
bool ContainersName(const Value& pod, std::string_view from, std::string_view key,
                    std::string_view projection, std::string_view name) {
  for (const std::string_view list : {"containers", "initContainers", "ephemeralContainers"}) {
    for (const Value& container : pod["spec"][list].Items()) {
      if (Names(container["envFrom"], {from, "name"}, name) ||
          Names(container["env"], {"valueFrom", key, "name"}, name)) {
        return true;
      }
    }
  }
  return std::ranges::any_of(pod["spec"]["volumes"].Items(), [&](const Value& volume) {
    return Names(volume["projected"]["sources"], {projection, "name"}, name);
  });
}

bool RefersToSecret(const Value& pod, std::string_view name) {
  return Names(pod["spec"]["imagePullSecrets"], {"name"}, name) ||
         VolumesName(pod, {"secret", "secretName"}, name) ||
         ContainersName(pod, "secretRef", "secretKeyRef", "secret", name);
}

bool RefersToConfigMap(const Value& pod, std::string_view name) {
  return VolumesName(pod, {"configMap", "name"}, name) ||
         ContainersName(pod, "configMapRef", "configMapKeyRef", "configMap", name);
}

bool RefersToVolumeClaim(const Value& pod, std::string_view name) {
  return VolumesName(pod, {"persistentVolumeClaim", "claimName"}, name);
}

bool RefersToServiceAccount(const Value& pod, std::string_view name) {
  return pod["spec"]["serviceAccountName"].AsString("default") == name;
}

bool RefersToClaim(const Value& pod, std::string_view name) {
  const Value& status = pod["status"];
  return Names(pod["spec"]["resourceClaims"], {"resourceClaimName"}, name) ||
         Names(status["resourceClaimStatuses"], {"resourceClaimName"}, name) ||
         status["extendedResourceClaimStatus"]["resourceClaimName"].AsString() == name;
}

bool IsPod(const Value& pod, std::string_view name) {
  return pod["metadata"]["name"].AsString() == name;
}

using Refers = bool (*)(const Value& pod, std::string_view name);

// --- Rules of resources whose access depends on the pods of the node.

struct Related {
  std::string_view group;
  std::string_view resource;
  Refers refers;
  bool list_by_name;  // list and watch of a single object, too
};
constexpr auto kRelated = std::to_array<Related>({
    {"", "secrets", RefersToSecret, true},
    {"", "configmaps", RefersToConfigMap, true},
    {"", "persistentvolumeclaims", RefersToVolumeClaim, false},
    {"resource.k8s.io", "resourceclaims", RefersToClaim, false},
});

class Question {
 public:
  Question(const ObjectReader& objects, PodsOfNodes* pods, const Attributes& attributes,
           std::string node, std::string& reason)
      : objects_(objects), pods_(pods), ask_(attributes), node_(std::move(node)), reason_(reason) {}

  Decision Answer() {
    for (const Related& related : kRelated) {
      if (ask_.group == related.group && ask_.resource == related.resource) return Ask(related);
    }
    struct Row {
      std::string_view group;
      std::string_view resource;
      Decision (Question::*answer)();
    };
    static constexpr auto kRows = std::to_array<Row>({
        {"", "serviceaccounts", &Question::ServiceAccount},
        {"coordination.k8s.io", "leases", &Question::Lease},
        {"storage.k8s.io", "csinodes", &Question::CsiNode},
        {"resource.k8s.io", "resourceslices", &Question::ResourceSlice},
        {"", "nodes", &Question::Node},
        {"", "pods", &Question::Pod},
    });
    for (const Row& row : kRows) {
      if (ask_.group == row.group && ask_.resource == row.resource) return (this->*row.answer)();
    }
    return Static();
  }

 private:
  Decision No(std::string reason) {
    reason_ = std::move(reason);
    return Decision::kNoOpinion;
  }

  Decision Ask(const Related& related) {
    if (ask_.resource == "persistentvolumeclaims" && ask_.subresource == "status") {
      if (OneOf(ask_.verb, {"update", "patch"})) return FromPods(related.refers);
      return No("can only get/update/patch this type");
    }
    if (related.list_by_name) {
      if (!OneOf(ask_.verb, {"get", "list", "watch"})) {
        return No("can only read resources of this type");
      }
      if (!ask_.subresource.empty()) return No("cannot read subresource");
      if (ask_.ns.empty()) return No("can only read namespaced object of this type");
    } else {
      if (ask_.verb != "get") return No("can only get individual resources of this type");
      if (!ask_.subresource.empty()) return No("cannot get subresource");
    }
    return FromPods(related.refers);
  }

  // Allowed when a pod of the namespace that is bound to the node refers to the object.
  Decision FromPods(Refers refers) {
    if (ask_.name.empty()) return No("No Object name found");
    return AnyPod([&](const Value& pod) { return refers(pod, ask_.name); }) ? Decision::kAllow
                                                                            : NoRelation();
  }

  [[nodiscard]] bool AnyPod(const std::function<bool(const Value& pod)>& fits) const {
    if (pods_ != nullptr) return pods_->Any(node_, ask_.ns, fits);
    bool found = false;
    objects_.ForEach("", "pods", ask_.ns, [&](const Value& pod) {
      found = found || (pod["spec"]["nodeName"].AsString() == node_ && fits(pod));
    });
    return found;
  }

  Decision NoRelation() {
    return No(fmt::format("no relationship found between node '{}' and this object", node_));
  }

  Decision ServiceAccount() {
    if (ask_.verb == "get" && ask_.subresource.empty()) return FromPods(RefersToServiceAccount);
    if (ask_.verb != "create" || ask_.name.empty()) {
      return No("can only create tokens for individual service accounts");
    }
    if (ask_.subresource != "token") {
      return No("can only create token subresource of serviceaccount");
    }
    return FromPods(RefersToServiceAccount);
  }

  Decision Lease() {
    if (!OneOf(ask_.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a node lease");
    }
    if (ask_.ns != kNodeLeases) {
      return No(fmt::format("can only access leases in the \"{}\" system namespace", kNodeLeases));
    }
    if (ask_.verb != "create" && ask_.name != node_) {
      return No("can only access node lease with the same name as the requesting node");
    }
    return Decision::kAllow;
  }

  Decision CsiNode() {
    if (!ask_.subresource.empty()) return No("cannot authorize CSINode subresources");
    if (!OneOf(ask_.verb, {"get", "create", "update", "patch", "delete"})) {
      return No("can only get, create, update, patch, or delete a CSINode");
    }
    if (ask_.verb != "create" && ask_.name != node_) {
      return No("can only access CSINode with the same name as the requesting node");
    }
    return Decision::kAllow;
  }

  Decision ResourceSlice() {
    if (!ask_.subresource.empty()) return No("cannot authorize ResourceSlice subresources");
    if (ask_.verb == "create") return Decision::kAllow;
    if (OneOf(ask_.verb, {"get", "update", "patch", "delete"})) {
      const Value slice = objects_.Get(ask_.group, ask_.resource, "", ask_.name);
      return slice["spec"]["nodeName"].AsString() == node_ ? Decision::kAllow : NoRelation();
    }
    if (OneOf(ask_.verb, {"watch", "list", "deletecollection"})) {
      if (SelectsOwnNode()) return Decision::kAllow;
      return No("can only list/watch/deletecollection resourceslices with nodeName field selector");
    }
    return No(
        "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
        "update, patch, delete, deletecollection");
  }

  Decision Node() {
    if (ask_.subresource == "status" && OneOf(ask_.verb, {"update", "patch"})) {
      return Decision::kAllow;
    }
    if (!ask_.subresource.empty()) return Decision::kNoOpinion;
    if (OneOf(ask_.verb, {"create", "update", "patch"})) return Decision::kAllow;
    if (!OneOf(ask_.verb, {"get", "list", "watch"})) return Decision::kNoOpinion;
    if (ask_.name == node_) return Decision::kAllow;
    if (ask_.name.empty()) {
      return No(fmt::format("node '{}' cannot read all nodes, only its own Node object", node_));
    }
    return No(
        fmt::format("node '{}' cannot read '{}', only its own Node object", node_, ask_.name));
  }

  Decision Pod() {
    if (ask_.subresource == "status" && OneOf(ask_.verb, {"update", "patch"})) {
      return Decision::kAllow;
    }
    if (ask_.subresource == "eviction" && ask_.verb == "create") return Decision::kAllow;
    if (!ask_.subresource.empty()) return Decision::kNoOpinion;
    if (OneOf(ask_.verb, {"create", "delete"})) return Decision::kAllow;
    if (ask_.verb == "get") return FromPods(IsPod);
    if (!OneOf(ask_.verb, {"list", "watch"})) return Decision::kNoOpinion;
    if (SelectsOwnNode()) return Decision::kAllow;
    if (!ask_.name.empty()) return FromPods(IsPod);
    return No("can only list/watch pods with spec.nodeName field selector");
  }

  [[nodiscard]] bool SelectsOwnNode() const {
    const std::string wanted = fmt::format("spec.nodeName={}", node_);
    const std::string twice = fmt::format("spec.nodeName=={}", node_);
    std::string_view rest = ask_.field_selector;
    while (!rest.empty()) {
      const std::string_view term = rest.substr(0, rest.find(','));
      if (term == wanted || term == twice) return true;
      rest.remove_prefix(std::min(rest.size(), term.size() + 1));
    }
    return false;
  }

  // The rest is the same for all nodes.
  Decision Static() {
    const Value role = objects_.Get("rbac.authorization.k8s.io", "clusterroles", "", "system:node");
    const auto rules = role["rules"].Items();
    const bool allowed = std::ranges::any_of(
        rules, [&](const Value& rule) { return RuleAllows(RuleFromJson(rule), ask_); });
    return allowed ? Decision::kAllow : Decision::kNoOpinion;
  }

  const ObjectReader& objects_;
  PodsOfNodes* const pods_;
  const Attributes& ask_;
  std::string node_;
  std::string& reason_;
};

}  // namespace

std::string NodeNameOf(const User& user) {
  const bool node = user.name.starts_with(kNodePrefix) && user.InGroup("system:nodes");
  return node ? user.name.substr(kNodePrefix.size()) : std::string();
}

std::string NodeAuthorizer::RulesFault(const User& user) const {
  return NodeNameOf(user).empty() ? "" : "node authorizer does not support user rule resolution";
}

Decision NodeAuthorizer::Authorize(const Attributes& attributes, std::string& reason) {
  std::string node = NodeNameOf(attributes.user);
  if (node.empty()) return Decision::kNoOpinion;
  const Decision decision =
      Question(objects_, pods_.get(), attributes, std::move(node), reason).Answer();
  if (!reason.empty()) reason.insert(0, "node: ");
  return decision;
}

}  // namespace drachma::apiserver
