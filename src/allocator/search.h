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

// The chosen alternative by request, counted over all claims; -1 for requests without alternatives.
using Alternatives = std::pmr::vector<int>;

// Whose turn it is in the search.
struct Turn {
  std::uint32_t claim = 0;
  std::uint32_t request = 0;
};
// The order in which requests are looked at.
using Order = std::vector<Turn>;

// A place in the search: the next device of a request.
struct Place {
  std::uint32_t turn = 0;  // in the order; what follows is of that turn
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
// remembered by what matters about them; and counting (Bounds) ends branches that can neither be
// completed nor reach a device that ends the attempt with an error, since upstream reports the
// error it meets first. Before that it looks whether there is a solution at all, in the order that
// shows soonest that there is none: what is scarce first.
class Search {
 public:
  // Refers to `demands`.
  Search(Attempt& attempt, const Demands& demands);

  // Searches from the beginning. The picks of a solution stay in the attempt.
  Found Run();
  // Completes the attempt's present picks from `place` on, for best-fit. As Run otherwise.
  Found RunFrom(Place place);

  [[nodiscard]] const Alternatives& alternatives() const { return alternatives_; }
  // Only these are to be used. Refers to `alternatives`.
  void FixAlternatives(const Alternatives& alternatives) { fixed_ = &alternatives; }
  [[nodiscard]] std::uint64_t work() const { return work_; }
  [[nodiscard]] const Demands& demands() const { return demands_; }
  [[nodiscard]] const Order& order() const { return order_; }
  // Whether counting alone showed that there is no solution.
  [[nodiscard]] bool decided_by_counting() const { return counted_; }

 private:
  Found Step(Place place);
  Found Next(const Place& place);
  // Whether some order shows that there is no solution, before a device that ends the attempt.
  bool ShownImpossible(const Place& place);
  Found EachAlternative(Place place);
  Found TakeAll(Place place);
  Found TakeOne(Place place);
  Found TryDevice(Place place, std::uint32_t position);
  void StartPruning();

  Attempt& attempt_;
  const Problem::Impl& problem_;
  const Demands& demands_;
  Alternatives alternatives_;
  const Alternatives* fixed_ = nullptr;
  Order order_;
  std::uint64_t work_ = 0;
  std::uint64_t plain_max_ = 0;
  std::uint64_t effort_ = 0;      // steps, counting included
  std::uint64_t effort_max_ = 0;  // once pruning
  bool counted_ = false;
  std::unique_ptr<Kinds> kinds_;    // once pruning
  std::unique_ptr<Bounds> bounds_;  // once pruning, unless failures forbid it
  std::unordered_set<StateKey, StateKeyHash> dead_;
};

}  // namespace drachma::allocator
