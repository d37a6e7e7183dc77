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

}  // namespace

std::string Describe(const allocator::Loss& loss) {
  switch (loss.cause) {
    case Cause::kFeatureOff:
      return "need a feature that is off";
    case Cause::kClassSelector:
      return fmt::format("not matched by selector {} of the device class", loss.detail);
    case Cause::kRequestSelector:
      return fmt::format("not matched by selector {} of the request", loss.detail);
    case Cause::kSelectorFault:
      return "a selector fails on";
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
  switch (shortage.kind) {
    case Shortage::Kind::kDevices:
      return fmt::format("{} together need {} devices, {} are there", who, shortage.needed,
                         shortage.available);
    case Shortage::Kind::kCounter:
      if (!shortage.needed_amount.empty()) {
        return fmt::format("{} together need {} of counter {}, {} is free", who,
                           shortage.needed_amount, shortage.what, shortage.available_amount);
      }
      return fmt::format("{}: counter {} is exhausted", who, shortage.what);
    case Shortage::Kind::kCapacity:
      return fmt::format("{}: capacity {} is exhausted", who, shortage.what);
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

std::string Describe(const Change& change) {
  switch (change.kind) {
    case Change::Kind::kReleaseClaims:
      return fmt::format("if {} ended", fmt::join(change.claims, ", "));
    case Change::Kind::kTolerateTaint:
      return fmt::format("if {} tolerated the taint {}", change.request, change.what);
    case Change::Kind::kMoreDevices:
      return fmt::format("with {} more device(s) for {}", change.amount, change.request);
    case Change::Kind::kFewerDevices:
      return fmt::format("if {} asked for {} device(s) less", change.request, change.amount);
    case Change::Kind::kDropConstraint:
      return fmt::format("without the constraint on {}", change.what);
    case Change::Kind::kSmallerRequest:
      return fmt::format("if {} asked for at most {} of {}", change.request, change.value,
                         change.what);
    case Change::Kind::kRelaxSelector:
      return fmt::format("if selector {} of {} matched", change.amount, change.request);
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
    for (const allocator::Loss& loss : account.losses) {
      const bool in_use = loss.cause == Cause::kInUse;
      if (in_use) holders_[loss.what] += loss.devices;
      request->losses[{loss.cause, loss.detail, in_use ? std::string() : Describe(loss)}] +=
          loss.devices;
    }
  }
  for (const Shortage& shortage : misfit.shortages) AddOnce(shortages_, Describe(shortage));
  for (const std::string& pool : misfit.pools) AddOnce(pools_, pool);
  if (change_.empty() && misfit.change) change_ = Describe(*misfit.change);
}

bool DeviceAccount::ManyClaims() const {
  return std::ranges::any_of(
      requests_, [this](const Request& r) { return r.claim != requests_.front().claim; });
}

std::string DeviceAccount::Title(const Request& request) const {
  if (!ManyClaims()) return fmt::format("request {}", request.name);
  return fmt::format("claim {} request {}", request.claim, request.name);
}

std::string DeviceAccount::Sentence() const {
  std::vector<std::string> sentences;
  for (const Request& request : requests_) {
    std::vector<std::string> parts;
    for (const auto& [loss, devices] : request.losses) {
      parts.push_back(fmt::format("{} {}", devices,
                                  loss.cause == Cause::kInUse ? std::string("in use") : loss.what));
    }
    if (request.usable > 0) parts.push_back(fmt::format("{} usable", request.usable));
    // Enough in sum, but the devices of a claim are taken through one node.
    const auto needed = static_cast<std::size_t>(std::max<std::int64_t>(request.needed, 0));
    if (!request.all && request.usable >= needed && request.usable_most < needed) {
      parts.push_back(fmt::format("at most {} on one node", request.usable_most));
    }
    std::string sentence =
        request.all ? fmt::format("{} needs all of {} devices", Title(request), request.considered)
                    : fmt::format("{} needs {} of {} devices", Title(request), request.needed,
                                  request.considered);
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
    const std::string title = Title(request);
    steps.push_back({title + ": devices considered", request.considered});
    for (const auto& [loss, devices] : request.losses) {
      steps.push_back(
          {fmt::format("{}: {}", title, loss.cause == Cause::kInUse ? "in use" : loss.what),
           devices});
    }
    steps.push_back({title + ": usable", request.usable});
  }
  return steps;
}

std::vector<std::string> DeviceAccount::Holders() const {
  std::vector<std::pair<std::string, std::size_t>> counted(holders_.begin(), holders_.end());
  std::ranges::stable_sort(counted,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> holders;
  for (auto& [holder, devices] : counted) holders.push_back(holder);
  return holders;
}

std::string DeviceAccount::ChangeText() const { return change_; }

}  // namespace drachma::explain
