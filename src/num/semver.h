#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drachma {

// A semantic version 2.0.0 as github.com/blang/semver/v4 reads and orders it. A value type.
struct Semver {
  struct PreRelease {
    bool is_number = false;
    std::uint64_t number = 0;
    std::string text;  // when it is no number
  };

  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::vector<PreRelease> pre;
  std::vector<std::string> build;

  // ERRORS: kBadRequest with blang/semver's text.
  [[nodiscard]] static Result<Semver> Parse(std::string_view text);
  [[nodiscard]] std::string ToString() const;
  // -1, 0 or 1 by precedence; build metadata does not count.
  [[nodiscard]] int Compare(const Semver& other) const;
};

}  // namespace drachma
