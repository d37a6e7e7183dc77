#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "explain/device_account.h"
#include "json/value.h"

namespace drachma::explain {

// Why something waits or is held: what `drachma explain` prints. The form of its JSON is part of
// the contract of the command line.
struct Explanation {
  std::string cause;                  // one sentence
  std::vector<Step> steps;            // the funnel, from many to few
  std::vector<std::string> blockers;  // objects that stand in the way: "claim ns/name"
  std::vector<std::string> devices;   // what the subject holds, "DRIVER/POOL/DEVICE" first
  std::vector<std::string> users;     // who uses the subject, where it is in use
  std::string preemption;             // what preemption could do; empty when it was not asked
  std::string change;                 // the smallest change that would help; may be empty
  std::string as_of;                  // the resourceVersion that it was read at

  [[nodiscard]] json::Value ToJson() const;
  // Lines for a terminal, each ended. Of long lists kShownMax entries; the JSON has all.
  static constexpr std::size_t kShownMax = 8;
  [[nodiscard]] std::string ToText() const;
};

}  // namespace drachma::explain
