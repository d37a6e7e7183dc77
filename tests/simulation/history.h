#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/client.h"

namespace drachma::simulation {

// One write to the store, as a watcher saw it. `object` is null for deletions, `before` for
// creations.
struct Write {
  std::int64_t revision = 0;
  std::string_view plural;
  std::string key;  // "namespace/name"
  json::Value before;
  json::Value object;
};

// Everything that was ever written to some resources, in the order of the store: watches of all of
// them, merged by revision. Without faults.
class History {
 public:
  // Between what is seen and what is told of it.
  static constexpr Duration kAdvanceInterval = std::chrono::milliseconds(10);

  // `client` must outlive it. `on_write` is told of each write in order, some tasks after it.
  History(client::Client& client, std::vector<client::Resource> resources,
          std::function<void(const Write&)> on_write);
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  void Start();
  [[nodiscard]] bool Follows(std::string_view plural) const;

  using Objects = std::map<std::string, json::Value, std::less<>>;
  // The objects of a resource as of the last write told, by "namespace/name".
  [[nodiscard]] const Objects& Of(std::string_view plural) const;
  [[nodiscard]] const json::Value& Get(std::string_view plural, std::string_view key) const;

 private:
  class Follower;
  struct Seen {
    std::string_view plural;
    client::WatchEvent event;
  };
  // Tells what is certain to be complete.
  void Advance();
  void AdvanceLater();
  void Tell(std::int64_t revision, Seen seen);

  client::Client& client_;
  const std::function<void(const Write&)> on_write_;
  std::vector<std::unique_ptr<Follower>> followers_;
  std::multimap<std::int64_t, Seen> pending_;
  std::int64_t seen_ = 0;      // the newest revision that any watch has shown
  std::int64_t complete_ = 0;  // seen_ when Advance was last called
  bool scheduled_ = false;
  std::map<std::string, Objects, std::less<>> objects_;
};

[[nodiscard]] std::int64_t RevisionOf(const json::Value& object);

}  // namespace drachma::simulation
