#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
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
  // What people know requests by, where they did not write them: those of extended resources
  // ("nvidia.com/gpu of container main" for "container-0-request-0").
  // REQUIRES: nothing was added yet.
  void SetTitles(std::map<std::string, std::string> titles) { titles_ = std::move(titles); }

  [[nodiscard]] bool empty() const { return requests_.empty() && pools_.empty(); }
  // Whether requests of more than one claim are counted, so that a request's name may not do.
  [[nodiscard]] bool ManyClaims() const;
  // One sentence per request, without a full stop at the end: "request gpu needs 1 of 24 devices:
  // 16 do not match the request's selector 0, 8 are in use". For event texts: short, bounded.
  [[nodiscard]] std::string Sentence() const;
  // The same as steps: "request gpu: devices considered", 24, …
  [[nodiscard]] std::vector<Step> Steps() const;
  // Taints that alone keep devices from a request, on nodes that have enough matching devices for
  // it: which, of how many devices.
  struct TaintLoss {
    std::string request;  // its title
    std::string what;     // "tainted key=value:effect"
    std::size_t devices = 0;
  };
  [[nodiscard]] std::vector<TaintLoss> Taints() const;
  // A selector that rejects devices of a request which finds too few on every node. A request that
  // some node has enough matching devices for waits for other reasons, and so does one that asks
  // for more than any node has; the selectors of a class count where no device is of the class.
  struct Refusal {
    std::string request;    // "request" or "request/alternative"
    bool of_class = false;  // else of the request
    int selector = 0;       // its index there
  };
  [[nodiscard]] std::vector<Refusal> Refusals() const;
  // Amounts of capacities that some node has for a request, where it asks for more; each once, so
  // many of them. Whether one would do is to be tried.
  struct SmallerAmount {
    std::string request;  // "request" or "request/alternative"
    std::string capacity;
    std::string amount;
    friend bool operator==(const SmallerAmount&, const SmallerAmount&) = default;
  };
  static constexpr std::size_t kSmallerMax = 16;
  [[nodiscard]] const std::vector<SmallerAmount>& smaller() const { return smaller_; }

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
    bool matched = false;         // by enough devices of one node
    bool enough = false;          // devices of any kind on one node
    bool of_class = false;        // some device is
    std::map<LossKey, std::size_t> losses;
    std::map<std::string, std::size_t> taints;  // devices by "tainted key=value:effect"
    // Of a counter set: which counters lack, and a text each.
    std::map<std::string, std::map<std::string, std::string>> counters;
  };
  struct Row {
    std::string what;
    std::size_t devices = 0;
    allocator::Cause cause;
  };

  // The losses for people: counters as one row per set.
  [[nodiscard]] static std::vector<Row> RowsOf(const Request& request);

  [[nodiscard]] std::string Title(const std::string& claim, const std::string& name) const;

  std::map<std::string, std::string> titles_;  // by the name of the request
  std::vector<Request> requests_;
  std::vector<std::string> shortages_;  // texts, each once
  std::vector<std::string> pools_;
  std::vector<SmallerAmount> smaller_;
};

// "in use", "tainted gpu=broken:NoSchedule": what a loss is, for people.
[[nodiscard]] std::string Describe(const allocator::Loss& loss);
[[nodiscard]] std::string Describe(const allocator::Shortage& shortage);

}  // namespace drachma::explain
