#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "allocator/bounds.h"

// Counting under matchAttribute and distinctAttribute.
namespace drachma::allocator {
namespace {

// Values of an attribute that are tried one by one; with more, counting says nothing.
constexpr std::size_t kValuesMax = 256;

}  // namespace

// A matchAttribute without a device yet: some value must suffice for all requests it covers.
std::optional<Shortage> Bounds::Match(const std::vector<Want>& wants) {
  const Problem::Impl& problem = attempt_.problem();
  for (std::uint32_t c = 0; c < problem.claims.size(); ++c) {
    const auto& constraints = problem.plans_by_claim[c].constraints;
    for (std::uint32_t i = 0; i < constraints.size(); ++i) {
      if (constraints[i].distinct || !attempt_.constraint(c, i).empty()) continue;
      // By want: the column under which the constraint covers all its plans.
      std::vector<std::optional<ColumnIndex>> column(wants.size());
      std::int64_t covered = 0;
      for (std::size_t w = 0; w < wants.size(); ++w) {
        if (wants[w].claim != c || wants[w].plans.size() != 1) continue;
        for (const ConstraintUse& use : attempt_.plan(wants[w].plans[0]).constraints) {
          if (use.constraint == i) column[w] = use.column;
        }
        if (column[w]) covered += wants[w].devices;
      }
      if (covered < 2) continue;
      std::set<std::uint32_t> values;
      const auto elements = [&](ColumnIndex at, std::size_t g) {
        const ValueId value = attempt_.ValueOf({.column = at}, groups_[g].position);
        return problem.table->memo.ValueAt(value).elements;
      };
      for (std::size_t w = 0; w < wants.size(); ++w) {
        for (std::size_t g = 0; column[w] && g < groups_.size(); ++g) {
          if (edges_[w][g] == 0) continue;
          for (const std::uint32_t element : elements(*column[w], g)) values.insert(element);
        }
      }
      if (values.size() > kValuesMax) continue;
      const auto all_edges = edges_;
      bool possible = false;
      std::int64_t best = 0;
      for (const std::uint32_t value : values) {
        for (std::size_t w = 0; w < wants.size(); ++w) {
          for (std::size_t g = 0; column[w] && g < groups_.size(); ++g) {
            const auto own = elements(*column[w], g);
            edges_[w][g] =
                all_edges[w][g] != 0 && std::ranges::find(own, value) != own.end() ? 1 : 0;
          }
        }
        const auto shortage = Flow(wants, nullptr);
        possible = !shortage;
        if (possible) break;
        best = std::max(best, covered - (shortage->needed - shortage->available));
      }
      edges_ = all_edges;
      if (!possible) {
        return Shortage{.kind = Shortage::Kind::kMatch,
                        .requests = NamesOf(wants),
                        .what = constraints[i].attribute,
                        .needed = covered,
                        .available = best};
      }
    }
  }
  return std::nullopt;
}

// The distinctAttribute constraints as Flow takes them. Under list attributes devices differ when
// their lists have nothing in common, so that values do not count.
std::vector<Bounds::Distinction> Bounds::Distinctions(const std::vector<Want>& wants) const {
  const Problem::Impl& problem = attempt_.problem();
  std::vector<Distinction> all;
  if (problem.features().list_type_attributes) return all;
  for (std::uint32_t c = 0; c < problem.claims.size(); ++c) {
    const auto& constraints = problem.plans_by_claim[c].constraints;
    for (std::uint32_t i = 0; i < constraints.size(); ++i) {
      if (!constraints[i].distinct) continue;
      Distinction entry{.attribute = constraints[i].attribute,
                        .covers = std::vector<char>(wants.size(), 0),
                        .value_of = std::vector<std::vector<std::size_t>>(wants.size())};
      std::map<ValueId, std::size_t> numbers;
      for (std::size_t w = 0; w < wants.size(); ++w) {
        // Alternatives may differ in whether the constraint covers them.
        if (wants[w].claim != c || wants[w].plans.size() != 1) continue;
        for (const ConstraintUse& use : attempt_.plan(wants[w].plans[0]).constraints) {
          if (use.constraint != i) continue;
          entry.covers[w] = 1;
          entry.covered.push_back(w);
          for (const Group& group : groups_) {
            const ValueId value = attempt_.ValueOf(use, group.position);
            entry.value_of[w].push_back(numbers.emplace(value, numbers.size()).first->second);
          }
        }
      }
      entry.values = numbers.size();
      if (!entry.covered.empty()) all.push_back(std::move(entry));
    }
  }
  return all;
}

std::optional<Shortage> Bounds::Distinct(const std::vector<Want>& wants) {
  for (const Distinction& distinction : Distinctions(wants)) {
    auto shortage = Flow(wants, &distinction);
    if (!shortage) continue;
    shortage->kind = Shortage::Kind::kDistinct;
    shortage->what = distinction.attribute;
    return shortage;
  }
  return std::nullopt;
}

// The matchAttribute constraints that no device has decided yet, with the values that the devices
// in question have.
std::vector<Bounds::Choice> Bounds::OpenMatches(const std::vector<Want>& wants) const {
  const Problem::Impl& problem = attempt_.problem();
  std::vector<Choice> choices;
  for (std::uint32_t c = 0; c < problem.claims.size(); ++c) {
    const auto& constraints = problem.plans_by_claim[c].constraints;
    for (std::uint32_t i = 0; i < constraints.size(); ++i) {
      if (constraints[i].distinct || !attempt_.constraint(c, i).empty()) continue;
      std::set<std::uint32_t> values;
      for (std::size_t w = 0; w < wants.size(); ++w) {
        if (wants[w].claim != c) continue;
        for (const std::uint32_t plan : wants[w].plans) {
          for (const ConstraintUse& use : attempt_.plan(plan).constraints) {
            if (use.constraint != i) continue;
            for (std::size_t g = 0; g < groups_.size(); ++g) {
              if (edges_[w][g] == 0) continue;
              const auto elements = ElementsOf(use, g);
              values.insert(elements.begin(), elements.end());
            }
          }
        }
      }
      if (!values.empty())
        choices.push_back({.claim = c, .constraint = i, .values = {values.begin(), values.end()}});
    }
  }
  return choices;
}

std::vector<std::uint32_t> Bounds::ElementsOf(const ConstraintUse& use, std::size_t group) const {
  const ValueId value = attempt_.ValueOf(use, groups_[group].position);
  return attempt_.problem().table->memo.ValueAt(value).elements;
}

// Whether for some choice of one value for every matchAttribute all counts are met at once.
// REQUIRES: edges_ as ShortageOf makes them; they are changed.
bool Bounds::SomeChoiceFits(const std::vector<Want>& wants) {
  const std::vector<Choice> choices = OpenMatches(wants);
  std::size_t combinations = 1;
  for (const Choice& choice : choices) {
    combinations *= choice.values.size();
    if (combinations > kValuesMax) return true;
  }
  if (choices.empty()) return true;
  const std::vector<Distinction> distinctions = Distinctions(wants);
  // By choice, plan and group: the elements, looked up once.
  std::vector<std::map<std::uint32_t, std::vector<std::vector<std::uint32_t>>>> elements(
      choices.size());
  for (std::size_t k = 0; k < choices.size(); ++k) {
    for (const Want& want : wants) {
      if (want.claim != choices[k].claim) continue;
      for (const std::uint32_t plan : want.plans) {
        for (const ConstraintUse& use : attempt_.plan(plan).constraints) {
          if (use.constraint != choices[k].constraint) continue;
          auto& rows = elements[k][plan];
          for (std::size_t g = 0; g < groups_.size(); ++g) rows.push_back(ElementsOf(use, g));
        }
      }
    }
  }
  for (std::size_t combination = 0; combination < combinations; ++combination) {
    std::vector<std::uint32_t> value(choices.size());
    std::size_t rest = combination;
    for (std::size_t k = 0; k < choices.size(); ++k) {
      value[k] = choices[k].values[rest % choices[k].values.size()];
      rest /= choices[k].values.size();
    }
    const auto admits = [&](std::uint32_t plan, std::size_t g) {
      for (std::size_t k = 0; k < choices.size(); ++k) {
        const auto rows = elements[k].find(plan);
        if (rows != elements[k].end() &&
            std::ranges::find(rows->second[g], value[k]) == rows->second[g].end()) {
          return false;
        }
      }
      return true;
    };
    for (std::size_t w = 0; w < wants.size(); ++w) {
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        edges_[w][g] = std::ranges::any_of(wants[w].plans, [&](std::uint32_t plan) {
          return usable_[plan][g] != 0 && admits(plan, g);
        });
      }
    }
    const bool fits = !Flow(wants, nullptr) && !Counters(wants) &&
                      std::ranges::none_of(distinctions, [&](const Distinction& distinction) {
                        return Flow(wants, &distinction).has_value();
                      });
    if (fits) return true;
  }
  return false;
}

}  // namespace drachma::allocator
