#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_set>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/bounds.h"
#include "allocator/kinds.h"

// The search for the first solution in upstream's order. Private to this folder.
namespace drachma::allocator {

// What a part of the search came to. kLimit: the claim would get more than kResultsMax devices,
// which other alternatives may avoid; kRestart and kWork end the search.
enum class Found : std::uint8_t { kNo, kYes, kLimit, kError, kRestart, kWork };

// Devices that allocation mode All takes, per plan.
struct Demand {
  std::int64_t devices = 0;
  std::vector<std::uint32_t> all;  // positions, for mode All
};

// A place in the search: the next device of a request.
struct Place {
  std::uint32_t claim = 0;
  std::uint32_t request = 0;
  std::int64_t device = 0;  // of the request, from 0
  std::uint32_t plan = 0;   // chosen request or alternative; meaningless until `chosen`
  bool chosen = false;
  std::uint32_t start = 0;  // first position to look at
};

// Depth-first search over claims, requests, alternatives and devices, as upstream's allocateOne.
//
// It runs plainly at first, which is all that most attempts need. After some steps it starts again
// with three prunings, none of which can change the first solution: of devices that nothing tells
// apart only one is tried at each place (Kinds); states that are known to lead nowhere are
// remembered by what matters about them; and counting (Bounds) ends branches that cannot be
// completed. Where a branch might end in an error, only the first two are used, since upstream
// reports the error it meets first.
class Search {
 public:
  Search(Attempt& attempt, std::vector<Demand> demands);

  // Searches from the beginning. The picks of a solution stay in the attempt.
  Found Run();
  // Completes the attempt's present picks from `place` on, for best-fit. As Run otherwise.
  Found RunFrom(Place place);

  // The chosen alternative by claim and request; -1 for requests without alternatives.
  [[nodiscard]] const std::vector<std::vector<int>>& alternatives() const { return alternatives_; }
  [[nodiscard]] std::vector<std::vector<int>> TakeAlternatives() {
    return std::move(alternatives_);
  }
  void FixAlternatives(std::vector<std::vector<int>> alternatives) {
    fixed_ = std::move(alternatives);
  }
  [[nodiscard]] std::uint64_t work() const { return work_; }
  [[nodiscard]] const std::vector<Demand>& demands() const { return demands_; }
  // Whether counting alone showed that there is no solution.
  [[nodiscard]] bool decided_by_counting() const { return counted_; }

 private:
  Found Step(Place place);
  Found EachAlternative(Place place);
  Found TakeAll(Place place);
  Found TakeOne(Place place);
  Found TryDevice(Place place, std::uint32_t position);
  [[nodiscard]] bool MayFailLater();
  void StartPruning();

  Attempt& attempt_;
  const Problem::Impl& problem_;
  std::vector<Demand> demands_;
  std::vector<std::vector<int>> alternatives_;
  std::vector<std::vector<int>> fixed_;
  std::uint64_t work_ = 0;
  std::uint64_t plain_max_ = 0;
  bool counted_ = false;
  std::unique_ptr<Kinds> kinds_;    // once pruning
  std::unique_ptr<Bounds> bounds_;  // once pruning, when no branch may fail
  std::unordered_set<StateKey, StateKeyHash> dead_;
};

}  // namespace drachma::allocator
