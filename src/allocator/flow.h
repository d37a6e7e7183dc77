#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace drachma::allocator {

// Maximum flow by shortest augmenting paths; the graphs are small and the flows below a few
// hundred.
class FlowNetwork {
 public:
  static constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

  explicit FlowNetwork(std::size_t nodes) : edges_of_(nodes) {}

  void Add(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
    if (capacity <= 0) return;
    edges_of_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({to, capacity});
    edges_of_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
    edges_.push_back({from, 0});
  }

  std::int64_t Max(std::uint32_t source, std::uint32_t sink) {
    std::int64_t total = 0;
    while (const std::int64_t more = Augment(source, sink)) total += more;
    return total;
  }

  // After Max: the nodes on the source's side of a smallest cut.
  [[nodiscard]] bool Reached(std::uint32_t node) const { return by_[node] != kUnseen; }

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t capacity;
  };
  static constexpr std::uint32_t kUnseen = ~std::uint32_t{0};
  static constexpr std::uint32_t kSource = kUnseen - 1;

  std::int64_t Augment(std::uint32_t source, std::uint32_t sink) {
    by_.assign(edges_of_.size(), kUnseen);
    by_[source] = kSource;
    std::vector<std::uint32_t> queue = {source};
    for (std::size_t i = 0; i < queue.size() && by_[sink] == kUnseen; ++i) {
      for (const std::uint32_t e : edges_of_[queue[i]]) {
        if (edges_[e].capacity == 0 || by_[edges_[e].to] != kUnseen) continue;
        by_[edges_[e].to] = e;
        queue.push_back(edges_[e].to);
      }
    }
    if (by_[sink] == kUnseen) return 0;
    std::int64_t amount = kUnlimited;
    for (std::uint32_t n = sink; n != source; n = edges_[by_[n] ^ 1].to) {
      amount = std::min(amount, edges_[by_[n]].capacity);
    }
    for (std::uint32_t n = sink; n != source; n = edges_[by_[n] ^ 1].to) {
      edges_[by_[n]].capacity -= amount;
      edges_[by_[n] ^ 1].capacity += amount;
    }
    return amount;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::uint32_t> by_;
};

}  // namespace drachma::allocator
