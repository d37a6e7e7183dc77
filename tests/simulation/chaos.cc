#include "chaos.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace drachma::simulation {
namespace {

constexpr std::uint64_t kOccasions = 1000;

bool IsWrite(const client::Request& request) {
  using client::Verb;
  return request.verb == Verb::kUpdate || request.verb == Verb::kPatch ||
         request.verb == Verb::kDelete;
}

}  // namespace

Chaos::Chaos(std::uint64_t seed, const Clock& clock, Echo echo)
    : random_(seed), clock_(clock), start_(clock.Now()), echo_(echo), api_down_until_(start_) {}

int Chaos::Between(int low, int high) {
  return low + static_cast<int>(random_.Below(static_cast<std::uint64_t>(high - low + 1)));
}

Duration Chaos::Milliseconds(int low, int high) {
  return std::chrono::milliseconds(Between(low, high));
}

bool Chaos::Happens(int FaultRates::* rate) {
  const int wanted = rates_.*rate;
  return wanted > 0 && static_cast<int>(random_.Below(kOccasions)) < wanted;
}

void Chaos::Calm() {
  rates_ = {};
  api_down_until_ = clock_.Now();
}

Error Chaos::TimedOut() {
  return {.code = Code::kTimeout,
          .message =
              "the server was unable to return a response in the time allotted, but may "
              "still be processing the request"};
}

std::optional<Error> Chaos::Refusal(const client::Request& request) {
  if (IsApiDown()) return Error{.code = Code::kUnavailable, .message = "connection refused"};
  if (!Happens(&FaultRates::refuse)) return std::nullopt;
  const std::array<Error, 5> errors = {{
      {.code = Code::kTooManyRequests,
       .message = "too many requests, please try again later",
       .retry_after_seconds = 1},
      {.code = Code::kInternal, .message = "an internal error, made up"},
      {.code = Code::kUnavailable, .message = "connection reset by peer"},
      TimedOut(),
      {.code = Code::kConflict, .message = "the object has been modified, it is said"},
  }};
  // What has no predecessor conflicts with nothing.
  return errors[random_.Below(errors.size() - (IsWrite(request) ? 0 : 1))];
}

void Chaos::Note(std::string line) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(clock_.Now() - start_);
  line = fmt::format("{:9.3f} {}", static_cast<double>(since.count()) / 1000.0, line);
  if (echo_ == Echo::kYes) fmt::print("{}\n", line);
  lines_.push_back(std::move(line));
  if (lines_.size() > kLinesMax) lines_.pop_front();
}

}  // namespace drachma::simulation
