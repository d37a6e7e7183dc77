#include "gpu/mig_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

namespace drachma::gpu {
namespace {

// The memory slices of a GPU as bits; none has more than 8.
using Slices = std::uint32_t;

Slices SlicesAt(const MigProfile& profile, int start) {
  return ((Slices{1} << profile.slices) - 1) << start;
}

// How much of a GPU is still of use with `taken` slices: every place for a part counts by its size,
// so that one large place counts more than the small ones within it.
int Worth(const Model& model, Slices taken) {
  int worth = 0;
  for (const MigProfile& profile : model.profiles) {
    for (int i = 0; i < profile.placements; ++i) {
      const bool free = (SlicesAt(profile, i * profile.slices) & taken) == 0;
      if (free) worth += profile.slices * profile.slices;
    }
  }
  return worth;
}

// Places parts one after another, trying all starts of each; at most 8 parts with 8 starts fit on a
// GPU, and those of one profile go in ascending order.
class Placer {
 public:
  Placer(const Model& model, std::vector<const MigProfile*> parts)
      : model_(model), parts_(std::move(parts)) {}

  std::optional<std::vector<Part>> Best() {
    Place(0, 0);
    return best_;
  }

 private:
  void Place(std::size_t next, Slices taken) {
    if (next == parts_.size()) {
      const int worth = Worth(model_, taken);
      if (best_ && worth <= best_worth_) return;
      best_ = placed_;
      best_worth_ = worth;
      return;
    }
    const MigProfile& profile = *parts_[next];
    const bool again = next > 0 && parts_[next - 1] == &profile;
    const int first = again ? placed_.back().start / profile.slices + 1 : 0;
    for (int i = first; i < profile.placements; ++i) {
      const Slices slices = SlicesAt(profile, i * profile.slices);
      if ((slices & taken) != 0) continue;
      placed_.push_back({.uuid = {}, .profile = profile.id, .start = i * profile.slices});
      Place(next + 1, taken | slices);
      placed_.pop_back();
    }
  }

  const Model& model_;
  const std::vector<const MigProfile*> parts_;
  std::vector<Part> placed_;
  std::optional<std::vector<Part>> best_;
  int best_worth_ = 0;
};

}  // namespace

int RoomBeside(const Model& model, const MigProfile& profile, int start) {
  return Worth(model, SlicesAt(profile, start));
}

Result<std::vector<Part>> PlaceParts(const Model& model, std::span<const WantedParts> wanted) {
  std::vector<const MigProfile*> parts;
  int slices = 0;
  for (const WantedParts& want : wanted) {
    if (want.count > want.profile->instances_max) {
      return Fail(Code::kInvalid, fmt::format("{} takes at most {} of {}", model.key,
                                              want.profile->instances_max, want.profile->name));
    }
    slices += want.count * want.profile->slices;
    parts.insert(parts.end(), static_cast<std::size_t>(want.count), want.profile);
  }
  std::optional<std::vector<Part>> placed;
  if (slices <= model.memory_slices) {
    std::ranges::stable_sort(parts, std::greater{}, &MigProfile::slices);
    placed = Placer(model, std::move(parts)).Best();
  }
  if (!placed) {
    return Fail(Code::kInvalid, fmt::format("these parts do not fit on {} together", model.key));
  }
  std::ranges::sort(*placed, {}, &Part::start);
  return *std::move(placed);
}

}  // namespace drachma::gpu
