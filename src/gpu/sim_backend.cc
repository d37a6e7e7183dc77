#include <fmt/format.h>

#include <utility>

#include "base/random.h"
#include "gpu/board.h"

namespace drachma::gpu {
namespace {

constexpr int kGpusPerRoot = 2;
constexpr int kBusesPerRoot = 0x10;

// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t SeedOf(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace

SimBackend::SimBackend(std::string node_name, const Model& model, int count, MigMode mig)
    : node_name_(std::move(node_name)), model_(model), count_(count), mig_(mig) {}

Result<std::vector<Board>> SimBackend::Enumerate() {
  Random random(SeedOf(node_name_));
  std::vector<Board> boards;
  for (int minor = 0; minor < count_; ++minor) {
    const int root = (minor / kGpusPerRoot + 1) * kBusesPerRoot;
    boards.push_back({
        .minor = minor,
        .uuid = "GPU-" + random.Uuid(),
        .model = &model_,
        .pci_bus_id = fmt::format("0000:{:02x}:00.0", (root + 1 + minor % kGpusPerRoot) & 0xFF),
        .pcie_root = fmt::format("pci0000:{:02x}", root & 0xFF),
        .numa_node = count_ > 1 && minor >= count_ / 2 ? 1 : 0,
        .mig = mig_,
    });
  }
  return boards;
}

}  // namespace drachma::gpu
