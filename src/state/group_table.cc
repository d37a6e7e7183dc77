#include "state/group_table.h"

#include <algorithm>
#include <utility>

#include "client/informer.h"

namespace drachma::state {

GroupPtr ReadGroup(json::Value group) {
  auto view = std::make_shared<GroupView>();
  const json::Value& metadata = group["metadata"];
  const json::Value& spec = group["spec"];
  view->uid = metadata["uid"].AsString();
  view->ns = metadata["namespace"].AsString();
  view->name = metadata["name"].AsString();
  const json::Value& gang = spec["schedulingPolicy"]["gang"];
  view->is_gang = gang.IsObject();
  if (view->is_gang) {
    view->min_count = static_cast<std::size_t>(std::max<std::int64_t>(1, gang["minCount"].AsInt()));
  }
  view->is_disrupted_as_one = spec["disruptionMode"].Has("all");
  view->priority = spec["priority"].AsInt();
  for (const json::Value& entry : spec["resourceClaims"].Items()) {
    view->claims.push_back(
        {.name = std::string(entry["name"].AsString()),
         .claim_name = std::string(entry["resourceClaimName"].AsString()),
         .template_name = std::string(entry["resourceClaimTemplateName"].AsString())});
  }
  view->object = std::move(group);
  return view;
}

void GroupTable::Put(const json::Value& group) {
  groups_.insert_or_assign(client::KeyOf(group), ReadGroup(group));
}

GroupPtr GroupTable::Find(std::string_view key) const {
  const auto found = groups_.find(std::string(key));
  return found == groups_.end() ? nullptr : found->second;
}

}  // namespace drachma::state
