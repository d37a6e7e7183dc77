#include "scheduler/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "client/informer.h"
#include "client/objects.h"

namespace drachma::scheduler {
namespace {

using json::Value;
using state::Part;

// Nodes that all trials together may look at, and how many trials there are at least and at most.
constexpr std::size_t kLooksMax = 1'000'000;
constexpr std::size_t kTrialsMin = 24;
constexpr std::size_t kTrialsMax = 512;

// The name of the node that takes the pod with the edits.
std::optional<std::string> Try(state::ClusterState& state, Cycle& cycle, const state::PodPtr& pod,
                               std::span<const Edit* const> edits) {
  Trial trial(state);
  Value object = pod->object;
  for (const Edit* edit : edits) {
    if (edit->pod) edit->pod(object);
    if (edit->cluster) edit->cluster(trial);
  }
  auto view = std::make_shared<state::PodView>(*state::ReadPod(std::move(object), state.names));
  for (const Edit* edit : edits) {
    if (edit->view) edit->view(*view);
  }
  cycle.ClassesChanged();
  const Attempt attempt = cycle.Schedule(view);
  cycle.ClassesChanged();
  const auto* placed = std::get_if<Placed>(&attempt);
  if (placed == nullptr) return std::nullopt;
  return state.nodes.At(placed->node).name;
}

std::string TextOf(const Edit& edit, std::string_view node) {
  std::string text = edit.change;
  if (const std::size_t at = text.find(kThatNode); at != std::string::npos) {
    text.replace(at, kThatNode.size(), node);
  }
  return text;
}

}  // namespace

Trial::~Trial() {
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
}

void Trial::PutClaim(const Value& claim) {
  // The table keeps what it has over an object of the same revision.
  const state::ClaimPtr before = state_.claims.Find(client::KeyOf(claim));
  state_.Remove(Part::kClaim, claim);
  state_.Put(Part::kClaim, claim);
  undo_.emplace_back([this, before, claim] {
    state_.Remove(Part::kClaim, claim);
    if (before) state_.Put(Part::kClaim, before->object);
  });
}

void Trial::PutNode(const Value& node) {
  const Value before = state_.nodes.At(*state_.nodes.Find(client::NameOf(node))).object;
  state_.Put(Part::kNode, node);
  undo_.emplace_back([this, before] { state_.Put(Part::kNode, before); });
}

void Trial::AddClass(const Value& device_class) {
  state_.Put(Part::kClass, device_class);
  undo_.emplace_back([this, device_class] { state_.Remove(Part::kClass, device_class); });
}

std::string SmallestTrue(state::ClusterState& state, Cycle& cycle, const state::PodPtr& pod,
                         std::vector<Edit> edits) {
  std::ranges::stable_sort(edits, {}, &Edit::cost);
  const std::size_t nodes = std::max<std::size_t>(state.nodes.ordered().size(), 1);
  std::size_t left = std::clamp(kLooksMax / nodes, kTrialsMin, kTrialsMax);
  for (const Edit& edit : edits) {
    if (left-- == 0) return {};
    const Edit* one = &edit;
    if (const auto node = Try(state, cycle, pod, std::span(&one, 1))) return TextOf(edit, *node);
  }
  for (std::size_t sum = 1; sum + 1 < 2 * edits.size(); ++sum) {
    for (std::size_t first = 0; first < edits.size() && first < sum - first; ++first) {
      const std::size_t second = sum - first;
      if (second >= edits.size()) continue;
      if (left-- == 0) return {};
      const Edit* both[] = {&edits[first], &edits[second]};
      if (const auto node = Try(state, cycle, pod, both)) {
        return fmt::format("{}, and {}", TextOf(*both[0], *node), TextOf(*both[1], *node));
      }
    }
  }
  return {};
}

}  // namespace drachma::scheduler
