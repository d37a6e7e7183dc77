#include "scheduler/explain_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/nearest.h"
#include "client/objects.h"
#include "scheduler/extended.h"

namespace drachma::scheduler {
namespace {

// Names that a list in a sentence has; the rest is counted.
constexpr std::size_t kNamedMax = 3;
constexpr std::string_view kLeaving = ", which is being deleted";

// The pod that the claim was generated for; empty for a claim of its own.
std::string_view OwnerOf(const state::ClaimView& claim) {
  const json::Value* owner = client::ControllerOf(claim.object);
  return owner != nullptr && (*owner)["kind"].AsString() == "Pod" ? (*owner)["name"].AsString()
                                                                  : std::string_view();
}

bool IsLeaving(const state::ClusterState& state, std::string_view ns, std::string_view name) {
  const state::PodPtr pod = state.FindPodByKey(fmt::format("{}/{}", ns, name));
  return pod && pod->deleting;
}

}  // namespace

void AddOnce(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

std::string FewOf(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(kNamedMax, names.size());
  std::string text =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<int>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string PodText(const state::ClusterState& state, std::string_view ns, std::string_view name) {
  return fmt::format("pod {}/{}{}", ns, name, IsLeaving(state, ns, name) ? kLeaving : "");
}

std::string HolderText(const state::ClusterState& state, const std::string& claim_key) {
  const state::ClaimPtr claim = state.claims.Find(claim_key);
  if (!claim) return "claim " + claim_key;
  if (const std::string_view owner = OwnerOf(*claim); !owner.empty()) {
    return PodText(state, claim->ns, owner);
  }
  std::vector<std::string> users;
  for (const json::Value& consumer : claim->object["status"]["reservedFor"].Items()) {
    const std::string_view name = consumer["name"].AsString();
    users.push_back(fmt::format("{}{}", name, IsLeaving(state, claim->ns, name) ? kLeaving : ""));
  }
  if (users.empty()) return "claim " + claim_key;
  return fmt::format("claim {} (pod {})", claim_key, fmt::join(users, ", "));
}

std::vector<std::string> DevicesOf(const state::ClusterState& state,
                                   const state::ClaimView& claim) {
  std::vector<std::string> devices;
  if (!claim.allocated()) return devices;
  std::map<std::string, std::string> titles;
  if (claim.object["metadata"]["annotations"].Has(kExtendedClaimAnnotation)) {
    const state::PodPtr pod = state.FindPodByKey(fmt::format("{}/{}", claim.ns, OwnerOf(claim)));
    if (pod) titles = TitlesOfRequests(*pod);
  }
  for (const api::DeviceResult& result : claim.claim.allocation->results) {
    const auto title = titles.find(result.request);
    devices.push_back(
        fmt::format("{}/{}/{} ({})", result.driver, result.pool, result.device,
                    title == titles.end() ? "request " + result.request : title->second));
  }
  return devices;
}

std::string TaintText(std::string_view key, std::string_view value, std::string_view effect) {
  return fmt::format("{}{}{}:{}", key, value.empty() ? "" : "=", value, effect);
}

std::string DidYouMean(std::string_view name, const std::vector<std::string>& names) {
  std::vector<std::string> near;
  if (std::string one = Nearest(name, names); !one.empty()) near.push_back(std::move(one));
  // The same at another place: another namespace, another node.
  const std::string end(name.substr(name.rfind('/') + 1));
  for (const std::string& other : names) {
    if (near.empty() || near.front() != other) {
      if (other.ends_with("/" + end)) near.push_back(other);
    }
  }
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", FewOf(near));
}

}  // namespace drachma::scheduler
