#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/result.h"
#include "client/client.h"

namespace drachma::simulation {

// What may go wrong, each per thousand of its occasions.
struct FaultRates {
  int refuse = 0;     // a request is answered by 409, 429, 500, 503 or a timeout, and not done
  int lose = 0;       // a request is done, but its answer is a timeout
  int delay = 0;      // a request or its answer is late
  int cut = 0;        // after an event its watch ends
  int expire = 0;     // of watches that end: with 410
  int lag = 0;        // an event and all after it come late
  int duplicate = 0;  // an event comes twice
  int prepare = 0;    // a driver fails, before or after its work, or answers late
};

// The source of all trouble of one run: everything random comes from its seed. What happened is
// kept as text, the last kLinesMax lines of it.
class Chaos {
 public:
  static constexpr std::size_t kLinesMax = 60;
  enum class Echo : std::uint8_t { kNo, kYes };

  Chaos(std::uint64_t seed, const Clock& clock, Echo echo);

  [[nodiscard]] Random& random() { return random_; }
  // A number in [low, high].
  [[nodiscard]] int Between(int low, int high);
  [[nodiscard]] Duration Milliseconds(int low, int high);
  // Whether something of this rate (per thousand) happens now.
  [[nodiscard]] bool Happens(int FaultRates::* rate);

  void SetRates(const FaultRates& rates) { rates_ = rates; }
  // Until then the API server cannot be reached.
  void TakeApiDown(Duration duration) { api_down_until_ = clock_.Now() + duration; }
  // No more faults from now on.
  void Calm();
  [[nodiscard]] bool IsApiDown() const { return clock_.Now() < api_down_until_; }
  // What a request is refused with, if it is.
  [[nodiscard]] std::optional<Error> Refusal(const client::Request& request);
  // "The answer did not come in time".
  [[nodiscard]] static Error TimedOut();

  void Note(std::string line);
  [[nodiscard]] const std::deque<std::string>& lines() const { return lines_; }

 private:
  Random random_;
  const Clock& clock_;
  const Time start_;
  const Echo echo_;
  FaultRates rates_;
  Time api_down_until_;
  std::deque<std::string> lines_;
};

}  // namespace drachma::simulation
