#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/dra_types.h"

// What an attempt to allocate comes to. Three outcomes that are never mixed: the claims fit, they
// do not fit (with reasons that can be counted), or the attempt failed (which says nothing about
// whether they fit).
namespace drachma::allocator {

struct DeviceId {
  std::string driver;
  std::string pool;
  std::string device;

  // "driver/pool/device".
  [[nodiscard]] std::string ToString() const;
  friend auto operator<=>(const DeviceId&, const DeviceId&) = default;
};

// A selector that failed at run time on a device, in the lenient mode: the device counted as one
// that does not match.
struct SelectorFault {
  std::string expression;
  DeviceId device;
  std::string error;      // upstream's text: "no such key: memory"
  std::string attribute;  // the key that was missing; empty when the error is of another kind
};

// The claims fit: one result per claim, in the order of the problem.
struct Fit {
  std::vector<api::AllocationResult> results;
  // What this choice costs the node, for comparing nodes: less is better. Zero under first-fit.
  double cost = 0;
  // The chosen alternative of each request with firstAvailable, over all claims; -1 for others.
  // Empty when no request has any.
  std::vector<int> alternatives;
};

// How many devices a request lost to one cause. Devices are counted once, at the first cause in
// the order of this enumeration that holds.
enum class Cause : std::uint8_t {
  kFeatureOff,       // the device needs a feature that is off, or that the node lacks
  kClassSelector,    // detail: the selector's index in the class
  kRequestSelector,  // detail: the selector's index in the request
  kSelectorFault,    // detail: as above, a class's selectors come first; lenient mode
  kOtherNode,        // per-device node selection excludes this node
  kCapacity,         // what: the capacity; free, needed: amounts (static or remaining)
  kInUse,            // what: the holder, "namespace/name" of the claim
  kTaint,            // what: the taint, "key=value:effect"
  kCounter,          // what: "counter-set/counter"; free, needed: amounts
  kGroups,           // what: the counter set whose compatibility groups clash
  kConstraint,       // what: the attribute; detail: the constraint's index. Devices without it
};

struct Loss {
  Cause cause;
  int detail = -1;
  std::string what;
  std::string free;
  std::string needed;
  std::size_t devices = 0;
};

// The account of one request (or of one alternative): considered = sum of losses + usable.
struct RequestAccount {
  std::string claim;    // "namespace/name"
  std::string request;  // "request" or "request/alternative"
  bool all = false;     // allocation mode All
  std::int64_t needed = 0;
  std::size_t considered = 0;  // devices of complete pools on this node
  std::size_t usable = 0;      // by themselves, before the requests compete for them
  std::vector<Loss> losses;
};

// Why requests that have usable devices each still do not fit together.
struct Shortage {
  enum class Kind : std::uint8_t {
    kDevices,      // the requests named need more devices than there are for them
    kCounter,      // a counter set is the bottleneck
    kCapacity,     // a shared device's capacity is
    kMatch,        // no value of the attribute has enough devices
    kDistinct,     // too few different values
    kCombination,  // none of these alone: the combination is exhausted
  };
  Kind kind = Kind::kDevices;
  std::vector<std::string> requests;  // "claim request", those that compete
  std::string what;                   // attribute, counter or capacity
  std::int64_t needed = 0;
  std::int64_t available = 0;
  // Amounts of a counter or capacity; empty when `needed` and `available` count devices.
  std::string needed_amount;
  std::string available_amount;
};

// A smallest change that would make the claims fit, where counting shows one.
struct Change {
  enum class Kind : std::uint8_t {
    kReleaseClaims,   // `claims` ended
    kTolerateTaint,   // the request tolerated `what`
    kMoreDevices,     // `amount` more devices like those wanted
    kFewerDevices,    // the request asked for `amount` fewer
    kDropConstraint,  // the constraint on `what` were not there
    kSmallerRequest,  // the capacity `what` asked were at most `value`
    kRelaxSelector,   // selector `amount` matched; with `what`: no selector failed
  };
  Kind kind;
  std::string request;
  std::string what;
  std::string value;
  std::int64_t amount = 0;
  std::vector<std::string> claims;
};

// The claims do not fit on this node.
struct Misfit {
  std::vector<RequestAccount> requests;
  std::vector<Shortage> shortages;
  std::optional<Change> change;
  // Pools that could not be used: "driver/pool is being updated" and the like.
  std::vector<std::string> pools;

  // One line for events: "gpu: 8 devices, 6 in use, 2 not matched by selector 0; …".
  [[nodiscard]] std::string ToString() const;
};

// The attempt failed.
struct Failure {
  enum class Scope : std::uint8_t {
    kAttempt,  // input that stops the attempt on every node (a selector that fails, …)
    kNode,     // this node only (a pool of it is invalid)
    kLimit,    // the work limit was reached: whether the claims fit is not known
  };
  Scope scope = Scope::kAttempt;
  std::string message;
};

struct Outcome {
  // Misfit holds only what is free to know; Explain gives the full account.
  std::variant<Fit, Misfit, Failure> value;
  std::vector<SelectorFault> faults;  // lenient mode only
  std::uint64_t work = 0;             // steps of the search

  [[nodiscard]] bool fits() const { return std::holds_alternative<Fit>(value); }
};

}  // namespace drachma::allocator
