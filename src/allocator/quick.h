#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "allocator/attempt.h"
#include "allocator/problem.h"

// The first look at a node. Private to this folder.
namespace drachma::allocator {

// Takes the first free devices that match, without the state that a search needs. Where nothing but
// matching and being free counts for the claims (Problem::Impl::simple) and for the devices that
// come first, that is the search's first solution; anything else is left to the search.
class Quick {
 public:
  // Refers to its arguments.
  Quick(const Problem::Impl& problem, const NodeView& view) : problem_(problem), view_(view) {}

  // False when it must be left to the search whether there is a solution.
  [[nodiscard]] bool Solve();
  [[nodiscard]] std::span<const Pick> picks() const { return {picks_.data(), count_}; }

 private:
  static constexpr std::size_t kWordsMax = 32;
  static constexpr std::size_t kPicksMax = 64;

  [[nodiscard]] bool TakeFor(std::uint32_t plan);

  const Problem::Impl& problem_;
  const NodeView& view_;
  std::array<std::uint64_t, kWordsMax> taken_;
  std::array<Pick, kPicksMax> picks_;
  std::size_t count_ = 0;
};

}  // namespace drachma::allocator
