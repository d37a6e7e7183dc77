#pragma once

#include <memory>
#include <string>

#include "apiserver/core.h"
#include "json/value.h"
#include "store/store.h"

namespace drachma::apiserver {

// Serves the resources that CustomResourceDefinitions declare: follows the definitions in the
// store, keeps the table of kinds up to date, and says in their status whether names were accepted
// and the resource is served (apiextensions' naming and establishing controllers). When a
// definition goes, so do its objects.
//
// Lives on the server's executor; `core` must outlive it.
class CustomResources {
 public:
  explicit CustomResources(Core& core)
      : core_(core), self_(std::make_shared<CustomResources*>(this)) {}
  ~CustomResources() { *self_ = nullptr; }
  CustomResources(const CustomResources&) = delete;
  CustomResources& operator=(const CustomResources&) = delete;

  // Serves what the store holds already and follows it from there.
  // ERRORS: those of the store.
  [[nodiscard]] Status Start();

 private:
  void Follow();
  void Serve(const json::Value& definition);
  void Stop(const json::Value& definition);
  void WriteStatus(const json::Value& definition, json::Value status);

  Core& core_;
  std::unique_ptr<store::Watch> watch_;
  std::shared_ptr<CustomResources*> self_;  // callbacks may come after the end
};

// The status of a definition: accepted names, stored versions, and the conditions NamesAccepted and
// Established. `fault` says why the definition cannot be served; empty when it is. Times of
// conditions that did not change stay.
[[nodiscard]] json::Value DefinitionStatus(const json::Value& definition, const std::string& fault,
                                           Time now);

}  // namespace drachma::apiserver
