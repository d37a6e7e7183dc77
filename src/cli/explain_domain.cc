#include "cli/explain_domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "validation/gpu_config.h"

namespace drachma::cli {
namespace {

using json::Value;
using namespace controllers::compute_domain;  // NOLINT: the names of what is explained
namespace resources = client::resources;

// The domain that a claim's channel is of; empty: it has none.
std::string_view DomainOf(const Value& claim) {
  for (const Value& config : claim.At({"status", "allocation", "devices", "config"}).Items()) {
    const Value& opaque = config["opaque"];
    const Value& parameters = opaque["parameters"];
    if (opaque["driver"].AsString() == validation::kComputeDomainDriver &&
        parameters["kind"].AsString() == "ComputeDomainChannelConfig") {
      return parameters["domainID"].AsString();
    }
  }
  return {};
}

const Value* ByUid(const std::vector<Value>& objects, std::string_view uid) {
  const auto found =
      std::ranges::find(objects, uid, [](const Value& object) { return client::UidOf(object); });
  return found == objects.end() ? nullptr : &*found;
}

std::string NameInFull(const Value& object) {
  return fmt::format("{}/{}", client::NamespaceOf(object), client::NameOf(object));
}

bool IsRegistered(const Value& domain, std::string_view node,
                  const DomainSurroundings& surroundings) {
  const auto ready = [&](const Value& list, std::string_view name) {
    return std::ranges::any_of(list.Items(), [&](const Value& entry) {
      return entry[name].AsString() == node && entry["status"].AsString() == kReady;
    });
  };
  if (ready(domain["status"]["nodes"], "name")) return true;
  return std::ranges::any_of(surroundings.cliques, [&](const Value& clique) {
    return client::LabelOf(clique, kLabel) == client::UidOf(domain) &&
           ready(clique["daemons"], "nodeName");
  });
}

// What is wrong with the domain's daemon on the node.
std::string WhyDaemon(const Value& domain, std::string_view node,
                      const DomainSurroundings& surroundings) {
  const auto daemon = std::ranges::find_if(surroundings.daemons, [&](const Value& pod) {
    return client::LabelOf(pod, kLabel) == client::UidOf(domain) &&
           pod["spec"]["nodeName"].AsString() == node;
  });
  if (daemon == surroundings.daemons.end()) {
    return fmt::format("no daemon of it runs on node {} yet", node);
  }
  if (!client::IsConditionTrue(*daemon, "Ready")) {
    return fmt::format("its daemon on node {}, pod {}, is {} and not ready", node,
                       NameInFull(*daemon), (*daemon)["status"]["phase"].AsString());
  }
  return fmt::format("its daemon on node {}, pod {}, has not registered", node,
                     NameInFull(*daemon));
}

}  // namespace

std::string WhyChannelWaits(const Value& pod, const DomainSurroundings& surroundings) {
  for (const Value& claim : surroundings.claims) {
    const std::string_view uid = DomainOf(claim);
    if (uid.empty()) continue;
    const Value* domain = ByUid(surroundings.domains, uid);
    if (domain == nullptr)
      return fmt::format("waits for ComputeDomain {}, which does not exist", uid);
    const std::string name = NameInFull(*domain);
    if (client::NamespaceOf(*domain) != client::NamespaceOf(pod)) {
      return fmt::format("waits for ComputeDomain {}, which is of another namespace", name);
    }
    const std::string_view node = pod["spec"]["nodeName"].AsString();
    if (IsRegistered(*domain, node, surroundings)) continue;
    const std::string_view owner = client::LabelOf(surroundings.node, kLabel);
    if (!owner.empty() && owner != uid) {
      const Value* other = ByUid(surroundings.domains, owner);
      return fmt::format("waits for ComputeDomain {}: node {} is one of ComputeDomain {}", name,
                         node, other == nullptr ? std::string(owner) : NameInFull(*other));
    }
    return fmt::format("waits for ComputeDomain {}: {}", name,
                       WhyDaemon(*domain, node, surroundings));
  }
  return {};
}

void ExplainDomain(Session& session, const Value& pod, explain::Explanation& explanation) {
  DomainSurroundings surroundings;
  const auto list = [&](const client::Resource& resource, std::string_view ns) {
    std::vector<Value> objects;
    const Result<Value> answer =
        session.Call({.verb = client::Verb::kList, .resource = resource, .ns = std::string(ns)});
    if (answer)
      objects.assign((*answer)["items"].Items().begin(), (*answer)["items"].Items().end());
    return objects;
  };
  for (const Value& entry : pod["spec"]["resourceClaims"].Items()) {
    const std::string_view name = client::ClaimNameOf(pod, entry);
    if (name.empty()) continue;
    const Result<Value> claim = session.Call(
        client::GetRequest(resources::kResourceClaims, client::NamespaceOf(pod), name));
    if (claim && !DomainOf(*claim).empty()) surroundings.claims.push_back(*claim);
  }
  if (surroundings.claims.empty()) return;
  surroundings.domains = list(kDomains, "");
  surroundings.cliques = list(kCliques, kNamespace);
  surroundings.daemons = list(resources::kPods, kNamespace);
  surroundings.node =
      session.Call(client::GetRequest(resources::kNodes, "", pod["spec"]["nodeName"].AsString()))
          .value_or(Value());
  const std::string why = WhyChannelWaits(pod, surroundings);
  if (!why.empty()) explanation.cause += ": it " + why;
}

}  // namespace drachma::cli
