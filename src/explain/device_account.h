#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "allocator/outcome.h"

namespace drachma::explain {

// One step of a funnel: how many are left, or were lost, and why.
struct Step {
  std::string step;
  std::size_t count = 0;

  friend bool operator==(const Step&, const Step&) = default;
};

// The accounts of an allocation that failed on several nodes, added up: per request the devices
// that were looked at and what each cause took away. The numbers add up: considered is the sum of
// the losses and of the usable ones.
class DeviceAccount {
 public:
  void Add(const allocator::Misfit& misfit);

  [[nodiscard]] bool empty() const { return requests_.empty() && pools_.empty(); }
  // One sentence per request, without a full stop at the end: "request gpu needs 1 of 24 devices:
  // 16 do not match the request's selector 0, 8 are in use". For event texts: short, bounded.
  [[nodiscard]] std::string Sentence() const;
  // The same as steps: "request gpu: devices considered", 24, …
  [[nodiscard]] std::vector<Step> Steps() const;
  // Claims that hold devices which would do otherwise, most devices first.
  [[nodiscard]] std::vector<std::string> Holders() const;
  // The smallest change that counting showed on one of the nodes; empty when none did.
  [[nodiscard]] std::string ChangeText() const;

 private:
  struct LossKey {
    allocator::Cause cause;
    int detail;
    std::string what;
    friend auto operator<=>(const LossKey&, const LossKey&) = default;
  };
  struct Request {
    std::string claim;
    std::string name;
    bool all = false;
    std::int64_t needed = 0;
    std::size_t considered = 0;
    std::size_t usable = 0;
    std::size_t usable_most = 0;  // on one node
    std::map<LossKey, std::size_t> losses;
  };

  [[nodiscard]] bool ManyClaims() const;
  [[nodiscard]] std::string Title(const Request& request) const;

  std::vector<Request> requests_;
  std::vector<std::string> shortages_;  // texts, each once
  std::map<std::string, std::size_t> holders_;
  std::vector<std::string> pools_;
  std::string change_;
};

// "in use", "tainted gpu=broken:NoSchedule": what a loss is, for people.
[[nodiscard]] std::string Describe(const allocator::Loss& loss);
[[nodiscard]] std::string Describe(const allocator::Shortage& shortage);
[[nodiscard]] std::string Describe(const allocator::Change& change);

}  // namespace drachma::explain
