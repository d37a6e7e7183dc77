#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "client/client.h"

namespace drachma::client {

// The object an event is about (core/v1 ObjectReference).
struct ObjectReference {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
  std::string resource_version;
};
// The reference to `object`, which has apiVersion and kind.
[[nodiscard]] ObjectReference ReferenceTo(const json::Value& object);

enum class EventType : std::uint8_t { kNormal, kWarning };

// Writes core/v1 Events without waiting for them and without flooding the API, as client-go's
// EventCorrelator does: an event equal to an earlier one raises that one's count; more than
// kSimilarMax that differ only in their message within kSimilarWindow become one
// "(combined from similar events)"; one object gets kBurst events at once and then one per
// kRefill. What has been seen is remembered for the kRemembered latest keys.
//
// Belongs to the client's executor. An event that the API refuses is dropped.
class EventRecorder {
 public:
  static constexpr int kSimilarMax = 10;
  static constexpr Duration kSimilarWindow = std::chrono::minutes(10);
  static constexpr int kBurst = 25;
  static constexpr Duration kRefill = std::chrono::minutes(5);
  static constexpr std::size_t kRemembered = 4096;
  // Events on their way; more are dropped (client-go's queue holds 1,000).
  static constexpr std::size_t kInFlightMax = 10000;
  static constexpr std::size_t kMessageBytesMax = 1024;  // validation's limit of a note

  // `client` must outlive the recorder. `component` is source.component ("default-scheduler").
  EventRecorder(Client& client, std::string component, std::string host = "");
  ~EventRecorder();
  EventRecorder(const EventRecorder&) = delete;
  EventRecorder& operator=(const EventRecorder&) = delete;

  // `action` is what was done ("Binding"); may be empty.
  void Record(const ObjectReference& object, EventType type, std::string_view reason,
              std::string_view message, std::string_view action = {});
  // Whether no event is on its way.
  [[nodiscard]] bool idle() const { return in_flight_ == 0; }

 private:
  struct Series;  // equal events: what stands in the API
  struct Similar;
  struct Budget;
  template <typename T>
  struct Memory;

  bool TakeBudget(const std::string& key, Duration now);
  bool IsOneOfMany(const std::string& key, std::string_view message, Duration now);
  std::string NewName(const ObjectReference& object);
  void Create(const std::shared_ptr<Series>& series);
  void Update(const std::shared_ptr<Series>& series);

  Client& client_;
  const std::string component_;
  const std::string host_;
  std::unique_ptr<Memory<std::shared_ptr<Series>>> series_;
  std::unique_ptr<Memory<Similar>> similar_;
  std::unique_ptr<Memory<Budget>> budgets_;
  std::int64_t last_name_ = 0;
  std::size_t in_flight_ = 0;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::client
