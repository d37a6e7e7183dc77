#include "explain/device_account.h"

#include <fmt/format.h>

#include <algorithm>

namespace drachma::explain {
namespace {

using allocator::Cause;
using allocator::Change;
using allocator::Shortage;

// Shortages and pools that a sentence names; the rest is counted.
constexpr std::size_t kNamedMax = 3;

void AddOnce(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(std::move(text));
}

// Devices that never were what the request wants.
bool IsForeign(Cause cause) {
  return cause == Cause::kFeatureOff || cause == Cause::kClassSelector ||
         cause == Cause::kRequestSelector || cause == Cause::kSelectorFault ||
         cause == Cause::kOtherNode;
}

bool IsOfOtherClass(Cause cause) { return cause == Cause::kClassSelector; }

std::size_t Sum(const allocator::RequestAccount& account, bool (*counts)(Cause)) {
  std::size_t devices = 0;
  for (const allocator::Loss& loss : account.losses) {
    if (counts(loss.cause)) devices += loss.devices;
  }
  return devices;
}

}  // namespace

std::string Describe(const allocator::Loss& loss) {
  switch (loss.cause) {
    case Cause::kFeatureOff:
      return "needing a feature that is off";
    case Cause::kClassSelector:
      return fmt::format("not matched by selector {} of the device class", loss.detail);
    case Cause::kRequestSelector:
      return fmt::format("not matched by selector {} of the request", loss.detail);
    case Cause::kSelectorFault:
      return "on which a selector fails";
    case Cause::kOtherNode:
      return "on another node";
    case Cause::kCapacity:
      return loss.needed.empty() ? fmt::format("without enough {}", loss.what)
                                 : fmt::format("with less {} than {}", loss.what, loss.needed);
    case Cause::kInUse:
      return "in use";
    case Cause::kTaint:
      return fmt::format("tainted {}", loss.what);
    case Cause::kCounter:
      return fmt::format("without enough of counter {} ({} needed, {} free)", loss.what,
                         loss.needed, loss.free);
    case Cause::kGroups:
      return fmt::format("incompatible with what shares {}", loss.what);
    case Cause::kConstraint:
      return fmt::format("without attribute {}", loss.what);
  }
  return {};
}

std::string Describe(const Shortage& shortage) {
  const std::string who = fmt::format("{}", fmt::join(shortage.requests, ", "));
  const std::string_view need = shortage.requests.size() == 1 ? "needs" : "together need";
  switch (shortage.kind) {
    case Shortage::Kind::kDevices:
      return fmt::format("{} {} {} devices, {} are there", who, need, shortage.needed,
                         shortage.available);
    case Shortage::Kind::kCounter:
      if (!shortage.needed_amount.empty()) {
        return fmt::format("{} {} {} of counter {}, {} is free", who, need, shortage.needed_amount,
                           shortage.what, shortage.available_amount);
      }
      return fmt::format("{} {} {} devices, counter {} is enough for {}", who, need,
                         shortage.needed, shortage.what, shortage.available);
    case Shortage::Kind::kCapacity:
      return fmt::format("{} {} {} shares, the devices' capacity is enough for {}", who, need,
                         shortage.needed, shortage.available);
    case Shortage::Kind::kMatch:
      return fmt::format("{}: no value of {} has {} devices, at most {}", who, shortage.what,
                         shortage.needed, shortage.available);
    case Shortage::Kind::kDistinct:
      return fmt::format("{}: {} different values of {} are needed, {} are there", who,
                         shortage.needed, shortage.what, shortage.available);
    case Shortage::Kind::kCombination:
      return fmt::format("{}: no combination of the usable devices fits", who);
  }
  return {};
}

void DeviceAccount::Add(const allocator::Misfit& misfit) {
  for (const allocator::RequestAccount& account : misfit.requests) {
    auto request = std::ranges::find_if(requests_, [&](const Request& r) {
      return r.claim == account.claim && r.name == account.request;
    });
    if (request == requests_.end()) {
      requests_.push_back({.claim = account.claim,
                           .name = account.request,
                           .all = account.all,
                           .needed = account.needed});
      request = requests_.end() - 1;
    }
    request->considered += account.considered;
    request->usable += account.usable;
    request->usable_most = std::max(request->usable_most, account.usable);
    const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(account.needed, 0));
    const bool matched =
        account.considered - Sum(account, IsForeign) >= std::max<std::size_t>(needed, 1);
    request->matched |= matched;
    request->enough |= account.considered >= needed;
    request->of_class |= account.considered > Sum(account, IsOfOtherClass);
    for (const allocator::Loss& loss : account.losses) {
      std::string what = Describe(loss);
      if (loss.cause == Cause::kTaint && matched) request->taints[what] += loss.devices;
      if (loss.cause == Cause::kInUse) {
        what.clear();
      } else if (loss.cause == Cause::kCounter) {
        const std::size_t slash = loss.what.find('/');
        std::string set = loss.what.substr(0, slash);
        request->counters[set].emplace(
            slash == std::string::npos ? loss.what : loss.what.substr(slash + 1), std::move(what));
        what = std::move(set);
      }
      request->losses[{loss.cause, loss.detail, std::move(what)}] += loss.devices;
    }
  }
  for (Shortage shortage : misfit.shortages) {
    // "claim request", as the allocator names them.
    for (std::string& request : shortage.requests) {
      const std::size_t space = request.rfind(' ');
      request = Title(request.substr(0, space), request.substr(space + 1));
    }
    AddOnce(shortages_, Describe(shortage));
  }
  for (const std::string& pool : misfit.pools) AddOnce(pools_, pool);
  if (!misfit.change || misfit.change->kind != Change::Kind::kSmallerRequest) return;
  SmallerAmount smaller{misfit.change->request.substr(misfit.change->request.rfind(' ') + 1),
                        misfit.change->what, misfit.change->value};
  if (smaller_.size() >= kSmallerMax || std::ranges::find(smaller_, smaller) != smaller_.end()) {
    return;
  }
  smaller_.push_back(std::move(smaller));
}

bool DeviceAccount::ManyClaims() const {
  return std::ranges::any_of(
      requests_, [this](const Request& r) { return r.claim != requests_.front().claim; });
}

std::string DeviceAccount::Title(const std::string& claim, const std::string& name) const {
  if (const auto title = titles_.find(name); title != titles_.end()) return title->second;
  if (!ManyClaims()) return fmt::format("request {}", name);
  return fmt::format("claim {} request {}", claim, name);
}

std::vector<DeviceAccount::Row> DeviceAccount::RowsOf(const Request& request) {
  std::vector<Row> rows;
  for (const auto& [loss, devices] : request.losses) {
    Row row{.what = loss.what, .devices = devices, .cause = loss.cause};
    if (loss.cause == Cause::kInUse) row.what = "in use";
    if (loss.cause == Cause::kCounter) {
      const auto& counters = request.counters.at(loss.what);
      if (counters.size() == 1) {
        row.what = counters.begin()->second;
      } else {
        std::vector<std::string> names;
        for (const auto& [name, text] : counters) names.push_back(name);
        row.what = fmt::format(
            "without enough of {}'s counters ({}{})", loss.what,
            fmt::join(names.begin(),
                      names.begin() + static_cast<int>(std::min(kNamedMax, names.size())), ", "),
            names.size() > kNamedMax ? fmt::format(" and {} more", names.size() - kNamedMax) : "");
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<DeviceAccount::Refusal> DeviceAccount::Refusals() const {
  std::vector<Refusal> refusals;
  for (const Request& request : requests_) {
    if (request.matched || !request.enough) continue;
    for (const auto& [loss, devices] : request.losses) {
      if (loss.cause != Cause::kClassSelector && loss.cause != Cause::kRequestSelector) continue;
      if (loss.cause == Cause::kClassSelector && request.of_class) continue;
      refusals.push_back({.request = request.name,
                          .of_class = loss.cause == Cause::kClassSelector,
                          .selector = loss.detail});
    }
  }
  return refusals;
}

std::string DeviceAccount::Sentence() const {
  std::vector<std::string> sentences;
  for (const Request& request : requests_) {
    std::vector<std::string> parts;
    std::size_t counter_rows = 0;
    std::size_t unnamed = 0;
    for (const Row& row : RowsOf(request)) {
      if (row.cause == Cause::kCounter && ++counter_rows > kNamedMax) {
        unnamed += row.devices;
        continue;
      }
      parts.push_back(fmt::format("{} {}", row.devices, row.what));
    }
    if (unnamed > 0) {
      parts.push_back(fmt::format("{} without enough of {} more counter sets", unnamed,
                                  counter_rows - kNamedMax));
    }
    if (request.usable > 0) parts.push_back(fmt::format("{} usable", request.usable));
    // Enough in sum, but the devices of a claim are taken through one node.
    const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(request.needed, 0));
    if (!request.all && request.usable >= needed && request.usable_most < needed) {
      parts.push_back(fmt::format("at most {} on one node", request.usable_most));
    }
    std::string sentence = Title(request.claim, request.name);
    if (request.all) {
      sentence += fmt::format(" needs all of {} devices", request.considered);
    } else if (request.considered < needed) {
      sentence += fmt::format(" needs {} devices, there are {}", needed, request.considered);
    } else {
      sentence += fmt::format(" needs {} of {} devices", needed, request.considered);
    }
    if (!parts.empty()) sentence += fmt::format(": {}", fmt::join(parts, ", "));
    sentences.push_back(std::move(sentence));
  }
  for (const std::vector<std::string>* texts : {&shortages_, &pools_}) {
    for (std::size_t i = 0; i < std::min(kNamedMax, texts->size()); ++i) {
      sentences.push_back((*texts)[i]);
    }
  }
  return fmt::format("{}", fmt::join(sentences, "; "));
}

std::vector<Step> DeviceAccount::Steps() const {
  std::vector<Step> steps;
  for (const Request& request : requests_) {
    const std::string title = Title(request.claim, request.name);
    steps.push_back({title + ": devices considered", request.considered});
    for (const Row& row : RowsOf(request)) {
      steps.push_back({fmt::format("{}: {}", title, row.what), row.devices});
    }
    steps.push_back({title + ": usable", request.usable});
  }
  return steps;
}

std::vector<DeviceAccount::TaintLoss> DeviceAccount::Taints() const {
  std::vector<TaintLoss> taints;
  for (const Request& request : requests_) {
    for (const auto& [what, devices] : request.taints) {
      taints.push_back({Title(request.claim, request.name), what, devices});
    }
  }
  return taints;
}

}  // namespace drachma::explain
