#include "state/volume_table.h"

#include "client/informer.h"
#include "client/objects.h"

namespace drachma::state {

void ObjectTable::Put(const json::Value& object) {
  objects_.insert_or_assign(client::KeyOf(object), object);
}

void ObjectTable::Remove(const json::Value& object) { objects_.erase(client::KeyOf(object)); }

const json::Value* ObjectTable::Find(std::string_view key) const {
  const auto found = objects_.find(std::string(key));
  return found == objects_.end() ? nullptr : &found->second;
}

}  // namespace drachma::state
