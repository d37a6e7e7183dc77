#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "client/client.h"
#include "json/value.h"

namespace drachma::state {

inline const client::Resource kVolumeClaims = {"", "v1", "persistentvolumeclaims"};
inline const client::Resource kVolumes = {"", "v1", "persistentvolumes"};
inline const client::Resource kStorageClasses = {"storage.k8s.io", "v1", "storageclasses"};

// Objects by "namespace/name" (the name alone of cluster-scoped ones), kept as they are: pods name
// few of them. Single-threaded.
class ObjectTable {
 public:
  void Put(const json::Value& object);
  void Remove(const json::Value& object);
  // Null when it is not there.
  [[nodiscard]] const json::Value* Find(std::string_view key) const;

 private:
  std::unordered_map<std::string, json::Value> objects_;
};

// What volumes of pods lead to: PersistentVolumeClaims, PersistentVolumes and StorageClasses.
struct VolumeTable {
  ObjectTable claims;
  ObjectTable volumes;
  ObjectTable classes;
};

}  // namespace drachma::state
