#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "client/client.h"
#include "json/value.h"

namespace drachma::client {

// What an informer tells its listener. `old_object` is null for additions; `object` is the last
// known state for deletions.
struct Change {
  enum class Type : std::uint8_t { kAdded, kUpdated, kDeleted };
  Type type = Type::kAdded;
  json::Value old_object;
  json::Value object;
};

// A local copy of one resource that follows the API server: list (as a watch with
// sendInitialEvents, falling back to LIST), then watch, again from the last seen resourceVersion
// when the connection breaks, and a new list after 410. Survives a restart of the server: it
// retries with back-off (kRetryMin to kRetryMax, full jitter). After a new list, objects that went
// away in between are reported as deleted (client-go's reflector and DeltaFIFO.Replace).
//
// Belongs to the client's executor: all members and the listener run there.
class Informer {
 public:
  static constexpr Duration kRetryMin = std::chrono::milliseconds(100);
  static constexpr Duration kRetryMax = std::chrono::seconds(10);
  static constexpr Duration kAbsentRetry = std::chrono::minutes(5);

  struct Options {
    Resource resource;
    std::string ns;              // empty: all namespaces
    std::string label_selector;  // applied by the server
    std::string field_selector;
    // A server that does not serve the resource (404) counts as one without objects of it; it is
    // asked again every kAbsentRetry.
    bool optional = false;
  };
  using Listener = std::function<void(const Change&)>;

  // `client` must outlive the informer.
  Informer(Client& client, Options options);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  // Adds a listener. REQUIRES: before Start.
  void Listen(Listener listener);
  // Calls `on_synced` once, when the first complete copy is there.
  void Start(std::function<void()> on_synced);

  [[nodiscard]] bool synced() const;
  // The object "namespace/name" (or "name"), or null.
  [[nodiscard]] const json::Value* Get(std::string_view key) const;
  [[nodiscard]] const json::Value* Get(std::string_view ns, std::string_view name) const;
  [[nodiscard]] const std::unordered_map<std::string, json::Value>& objects() const;
  // The resourceVersion that the copy has reached; empty before the first sync.
  [[nodiscard]] const std::string& resource_version() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// "namespace/name", or "name" for a cluster-scoped object.
[[nodiscard]] std::string KeyOf(const json::Value& object);

}  // namespace drachma::client
