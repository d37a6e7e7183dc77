#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "allocator/attempt.h"
#include "allocator/kinds.h"
#include "allocator/outcome.h"

// Counting: conditions that every solution meets. Private to this folder.
namespace drachma::allocator {

struct Place;
struct Turn;
using Order = std::vector<Turn>;

class Bounds {
 public:
  // Refers to its arguments.
  Bounds(Attempt& attempt, const Kinds& kinds, const Demands& demands, const Order& order);

  // Whether what remains from `place` on may be possible in the present state, or may end in an
  // error: then the search must go on, to find the solution or the error.
  [[nodiscard]] bool MayComplete(const Place& place);
  // Whether any look at a device may end the attempt.
  [[nodiscard]] bool any_failing() const { return any_failing_; }
  // How many turns of the order come before the first that may end the attempt.
  [[nodiscard]] std::size_t TurnsBeforeFailure() const;
  // Whether the order of requests does not matter for what is a solution, but for admin access.
  [[nodiscard]] bool order_is_free() const;
  // How many more devices a request could use than it needs; less where constraints cover it.
  [[nodiscard]] double Plenty(const Turn& turn);
  // The condition that is not met, for reasons; nothing when all are.
  [[nodiscard]] std::optional<Shortage> FirstShortage(const Place& place);

 private:
  // Requests that can use the same devices, together.
  struct Want {
    std::vector<std::uint32_t> plans;  // one of its requests' alternatives
    std::int64_t devices = 0;
    std::uint32_t requests = 1;
    std::uint32_t start = 0;
    std::uint32_t claim = 0;
    bool may_fail = false;  // looking for its devices may end the attempt
    bool competes = true;   // not with admin access
  };
  // Free devices of one kind and block.
  struct Group {
    std::uint32_t position = 0;  // one that stands for all
    std::uint32_t block = Kinds::kNone;
    bool shared = false;
    std::vector<std::uint32_t> positions;
  };

  // A distinctAttribute constraint: the values, numbered, of every group for the wants it covers.
  struct Distinction {
    std::string attribute;
    std::size_t values = 0;
    std::vector<char> covers;                        // by want
    std::vector<std::size_t> covered;                // wants
    std::vector<std::vector<std::size_t>> value_of;  // by want and group
  };
  // A matchAttribute constraint that no device has decided yet.
  struct Choice {
    std::uint32_t claim = 0;
    std::uint32_t constraint = 0;
    std::vector<std::uint32_t> values;
  };

  [[nodiscard]] std::vector<Want> Remaining(const Place& place) const;
  void CollectGroups();
  [[nodiscard]] bool Usable(std::uint32_t plan, std::uint32_t position);
  [[nodiscard]] bool CountersAllow(std::uint32_t position);
  [[nodiscard]] bool CountersCount(std::uint32_t pool) const;
  [[nodiscard]] bool AllUsable(std::uint32_t plan);
  void FindFailing(std::uint32_t plan);
  [[nodiscard]] bool MayFail(std::uint32_t plan, std::uint32_t start) const;
  // kNamed: which constraint it is that fails, where one alone does.
  enum class Detail : std::uint8_t { kAny, kNamed };
  [[nodiscard]] std::optional<Shortage> ShortageOf(std::vector<Want> wants, Detail detail);
  [[nodiscard]] std::optional<Shortage> Flow(const std::vector<Want>& wants,
                                             const Distinction* distinct);
  [[nodiscard]] std::vector<Distinction> Distinctions(const std::vector<Want>& wants) const;
  [[nodiscard]] std::vector<Choice> OpenMatches(const std::vector<Want>& wants) const;
  [[nodiscard]] std::vector<std::uint32_t> ElementsOf(const ConstraintUse& use,
                                                      std::size_t group) const;
  [[nodiscard]] bool SomeChoiceFits(const std::vector<Want>& wants);
  [[nodiscard]] std::optional<Shortage> Counters(const std::vector<Want>& wants);
  [[nodiscard]] std::optional<Shortage> Match(const std::vector<Want>& wants);
  [[nodiscard]] std::optional<Shortage> Distinct(const std::vector<Want>& wants);
  [[nodiscard]] std::int64_t BlockLimit(std::uint32_t block,
                                        const std::vector<std::uint32_t>& users) const;
  [[nodiscard]] std::int64_t ShareLimit(std::uint32_t group, const std::vector<Want>& wants);
  [[nodiscard]] std::vector<std::string> NamesOf(const std::vector<Want>& wants) const;

  Attempt& attempt_;
  const Kinds& kinds_;
  const Demands& demands_;
  const Order& order_;
  // By plan: devices at which a look may end the attempt. For mode All, those it would try to take.
  std::vector<std::vector<std::uint32_t>> failing_;
  bool any_failing_ = false;
  std::vector<Group> groups_;
  // edges_[want][group]: whether the want can use the group's devices now.
  std::vector<std::vector<char>> edges_;
  std::vector<std::vector<char>> usable_;  // by plan and group
};

}  // namespace drachma::allocator
