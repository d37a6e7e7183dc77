#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "json/value.h"

namespace drachma::controllers {

// A kind of objects that garbage collection, the deletion of namespaces and quotas care about.
struct CollectedKind {
  std::string kind;
  bool namespaced = false;
  client::Resource resource;  // in its preferred version
};

// Where kinds are defined at run time.
inline const client::Resource kDefinitions = {"apiextensions.k8s.io", "v1",
                                              "customresourcedefinitions"};

// Every resource of the table that can be listed, watched and deleted, but Events: they have no
// owners, are many, and go by their age.
[[nodiscard]] const std::vector<CollectedKind>& CollectedKinds();

// What a CustomResourceDefinition defines, in the version that is stored, or else the first that is
// served. Nothing while its names are not accepted or no version is served.
[[nodiscard]] std::optional<CollectedKind> KindOfDefinition(const json::Value& definition);

}  // namespace drachma::controllers
