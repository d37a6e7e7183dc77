#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/board.h"
#include "gpu/catalogue.h"

namespace drachma::gpu {

// So many parts of a profile.
struct WantedParts {
  const MigProfile* profile = nullptr;
  int count = 0;
};

// Where the wanted parts of one empty GPU go so that all of them fit; of the ways to do that one
// that leaves room for the largest further parts (an administrator who thinks ahead). Parts come
// without UUIDs, by start.
// ERRORS: kInvalid: they do not fit together, or a profile is wanted more often than it can be.
[[nodiscard]] Result<std::vector<Part>> PlaceParts(const Model& model,
                                                   std::span<const WantedParts> wanted);

// How much room for further parts a part leaves on an otherwise empty GPU; more is better.
[[nodiscard]] int RoomBeside(const Model& model, const MigProfile& profile, int start);

}  // namespace drachma::gpu
