#include "controllers/compute_domain_kinds.h"

#include <utility>

#include "json/yaml.h"

namespace drachma::controllers::compute_domain {
namespace {

using json::Value;

constexpr std::string_view kDefinitionsText = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: computedomains.resource.nvidia.com
spec:
  group: resource.nvidia.com
  names:
    kind: ComputeDomain
    listKind: ComputeDomainList
    plural: computedomains
    singular: computedomain
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources:
      status: {}
    additionalPrinterColumns:
    - name: Status
      type: string
      description: Whether all daemons of the domain are ready.
      jsonPath: .status.status
    - name: Age
      type: date
      jsonPath: .metadata.creationTimestamp
    schema:
      openAPIV3Schema:
        description: >-
          A set of nodes that run one job whose GPUs share memory over NVLink. Nodes join it when
          a pod of theirs claims its channel.
        type: object
        properties:
          apiVersion:
            description: The version of the schema that the object is written in.
            type: string
          kind:
            description: The name of the kind.
            type: string
          metadata:
            type: object
          spec:
            description: What is wanted. It cannot be changed.
            type: object
            required: [channel]
            properties:
              numNodes:
                description: >-
                  How many nodes must have joined before the status says Ready. Nothing waits for
                  it: a pod starts when the daemon of its own node is ready. Deprecated; 0 is the
                  recommended value.
                type: integer
                default: 0
                minimum: 0
              channel:
                description: How pods get at the domain.
                type: object
                required: [resourceClaimTemplate]
                properties:
                  allocationMode:
                    description: One channel for a pod, or all that the domain has.
                    type: string
                    default: Single
                    enum: [All, Single]
                  resourceClaimTemplate:
                    description: The ResourceClaimTemplate that is made for the domain's pods.
                    type: object
                    required: [name]
                    properties:
                      name:
                        description: Its name, in the namespace of the domain.
                        type: string
            x-kubernetes-validations:
            - message: A computeDomain.spec is immutable
              rule: self == oldSelf
          status:
            description: How far the domain is. Pods should not depend on it.
            type: object
            required: [status]
            properties:
              status:
                description: Ready when enough nodes have joined and all of them are ready.
                type: string
                default: NotReady
                enum: [Ready, NotReady]
              nodes:
                description: The nodes that have joined.
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  description: A node of the domain.
                  type: object
                  required: [cliqueID, ipAddress, name]
                  properties:
                    name:
                      description: The name of the node.
                      type: string
                    ipAddress:
                      description: The address of its daemon.
                      type: string
                    cliqueID:
                      description: The NVLink fabric that it is part of; empty without one.
                      type: string
                    index:
                      description: >-
                        The number of its daemon among those of the same fabric, from which the
                        daemon's DNS name follows.
                      type: integer
                    status:
                      description: Whether its daemon is ready.
                      type: string
                      default: NotReady
                      enum: [Ready, NotReady]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: computedomaincliques.resource.nvidia.com
spec:
  group: resource.nvidia.com
  names:
    kind: ComputeDomainClique
    listKind: ComputeDomainCliqueList
    plural: computedomaincliques
    singular: computedomainclique
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: >-
          The daemons of a ComputeDomain that are joined by one NVLink fabric. It is made by the
          daemons in the driver's namespace, with the name <uid of the domain>.<clique>.
        type: object
        properties:
          apiVersion:
            description: The version of the schema that the object is written in.
            type: string
          kind:
            description: The name of the kind.
            type: string
          metadata:
            type: object
          daemons:
            description: The daemons that have registered.
            type: array
            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [nodeName]
            items:
              description: A daemon.
              type: object
              required: [cliqueID, ipAddress, nodeName]
              properties:
                nodeName:
                  description: The node that it runs on.
                  type: string
                ipAddress:
                  description: Its address.
                  type: string
                cliqueID:
                  description: The NVLink fabric that its node is part of.
                  type: string
                index:
                  description: >-
                    Its number in the clique, the lowest that was free when it registered. Its DNS
                    name follows from it.
                  type: integer
                status:
                  description: Whether it is ready.
                  type: string
                  default: NotReady
                  enum: [Ready, NotReady]
)";

}  // namespace

const std::vector<Value>& Definitions() {
  static const std::vector<Value> definitions = [] {
    std::vector<json::YamlDocument> documents = json::ReadYaml(kDefinitionsText).value();
    std::vector<Value> read;
    for (json::YamlDocument& document : documents) read.push_back(std::move(document.value));
    return read;
  }();
  return definitions;
}

const Value* DefinitionOf(std::string_view kind) {
  for (const Value& definition : Definitions()) {
    if (definition.At({"spec", "names", "kind"}).AsString() == kind) return &definition;
  }
  return nullptr;
}

}  // namespace drachma::controllers::compute_domain
