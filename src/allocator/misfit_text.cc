#include <array>

#include "allocator/outcome.h"

namespace drachma::allocator {
namespace {

constexpr std::array<std::string_view, 11> kCauseTexts = {
    "need a feature that is off or missing on the node",
    "not matched by class",
    "not matched by selector",
    "failed by selector",
    "of another node",
    "without capacity",
    "in use",
    "tainted",
    "without counter",
    "of another compatibility group at",
    "without attribute",
};

std::string TextOf(const Loss& loss) {
  std::string text = std::to_string(loss.devices) + " " +
                     std::string(kCauseTexts[static_cast<std::size_t>(loss.cause)]);
  if (loss.cause == Cause::kRequestSelector || loss.cause == Cause::kSelectorFault) {
    text += " #" + std::to_string(loss.detail);
  }
  if (loss.cause == Cause::kInUse) return loss.what.empty() ? text : text + " by " + loss.what;
  if (!loss.what.empty()) text += " " + loss.what;
  if (!loss.needed.empty()) text += " (" + loss.needed + " needed, " + loss.free + " free)";
  return text;
}

std::string TextOf(const RequestAccount& account) {
  std::string text = account.request + ": ";
  text += account.all ? "all" : std::to_string(account.needed);
  text += " needed of " + std::to_string(account.considered) + " devices, " +
          std::to_string(account.usable) + " usable";
  for (const Loss& loss : account.losses) text += ", " + TextOf(loss);
  return text;
}

std::string TextOf(const Shortage& shortage) {
  std::string who;
  for (const std::string& request : shortage.requests) who += (who.empty() ? "" : ", ") + request;
  const bool amounts = !shortage.needed_amount.empty();
  const std::string numbers =
      amounts ? shortage.needed_amount + " needed together, " + shortage.available_amount + " free"
              : std::to_string(shortage.needed) + " needed together, " +
                    std::to_string(shortage.available) + " possible";
  switch (shortage.kind) {
    case Shortage::Kind::kDevices:
      return who + ": " + numbers;
    case Shortage::Kind::kCounter:
      return who + ": " + numbers + " by counter " + shortage.what;
    case Shortage::Kind::kCapacity:
      return who + ": " + numbers + " by capacity of shared devices";
    case Shortage::Kind::kMatch:
      return who + ": " + numbers + " with one value of " + shortage.what;
    case Shortage::Kind::kDistinct:
      return who + ": " + numbers + " with different values of " + shortage.what;
    case Shortage::Kind::kCombination:
      break;
  }
  return "no combination of the usable devices satisfies all requests";
}

}  // namespace

std::string Misfit::ToString() const {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!text.empty()) text += "; ";
    text += part;
  };
  for (const RequestAccount& account : requests) {
    // Requests that find enough say nothing about why the claims do not fit.
    if (static_cast<std::int64_t>(account.usable) < account.needed || account.considered == 0 ||
        (account.all && account.needed == 0)) {
      add(TextOf(account));
    }
  }
  for (const Shortage& shortage : shortages) add(TextOf(shortage));
  for (const std::string& pool : pools) add("pool " + pool);
  return text;
}

}  // namespace drachma::allocator
