#include "gpu/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

namespace drachma::gpu {
namespace {

using json::Value;

constexpr std::array<std::string_view, 3> kEffects = {"None", "NoSchedule", "NoExecute"};

struct KindRow {
  Fault::Kind kind;
  std::string_view word;  // in the text of a simulated fault
  std::string_view taint;
  TaintEffect effect;
};
constexpr KindRow kKinds[] = {
    {Fault::Kind::kXid, "xid", "gpu.nvidia.com/xid", TaintEffect::kNoSchedule},
    {Fault::Kind::kLost, "lost", "gpu.nvidia.com/gpu-lost", TaintEffect::kNoSchedule},
    {Fault::Kind::kUnmonitored, "unmonitored", "gpu.nvidia.com/unmonitored", TaintEffect::kNone},
};

// Errors of the program, not of the GPU (the NVIDIA driver's list).
constexpr std::array<int, 6> kXidsOfPrograms = {13, 31, 43, 45, 68, 109};

bool Concerns(const Fault& fault, const Board& board, const BoardDevice& device) {
  return fault.device == "*" || fault.device == device.name ||
         fault.device == fmt::format("gpu-{}", board.minor);
}

std::optional<TaintEffect> ReadEffect(std::string_view word) {
  const auto found = std::ranges::find(kEffects, word);
  if (found == kEffects.end()) return std::nullopt;
  return static_cast<TaintEffect>(found - kEffects.begin());
}

// Cuts `text` at the first `separator`: what stands before it is returned, what follows stays.
std::string_view CutAt(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return head;
}

Result<Fault> ParseFault(std::string_view text) {
  std::string_view rest = text;
  Fault fault{.device = std::string(CutAt(rest, '='))};
  const std::string_view word = CutAt(rest, ':');
  const auto kind = std::ranges::find(kKinds, word, &KindRow::word);
  const auto wrong = Fail(
      Code::kInvalid,
      fmt::format("\"{}\" is not DEVICE=xid:NUMBER, DEVICE=lost or DEVICE=unmonitored, each with "
                  ":None, :NoSchedule or :NoExecute behind it if wanted",
                  text));
  if (fault.device.empty() || kind == std::end(kKinds)) return wrong;
  fault.kind = kind->kind;
  fault.effect = kind->effect;
  if (fault.kind == Fault::Kind::kXid) {
    const std::string_view number = CutAt(rest, ':');
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), fault.xid);
    if (error != std::errc() || end != number.data() + number.size() || fault.xid < 1) return wrong;
    fault.effect = EffectOfXid(fault.xid);
  }
  if (rest.empty()) return fault;
  const std::optional<TaintEffect> effect = ReadEffect(rest);
  if (!effect) return wrong;
  fault.effect = *effect;
  return fault;
}

}  // namespace

std::string_view NameOf(TaintEffect effect) { return kEffects[static_cast<std::size_t>(effect)]; }

TaintEffect EffectOfXid(int xid) {
  return std::ranges::find(kXidsOfPrograms, xid) == kXidsOfPrograms.end() ? TaintEffect::kNoSchedule
                                                                          : TaintEffect::kNone;
}

std::vector<Value> TaintsOf(const Board& board, const BoardDevice& device,
                            std::span<const Fault> faults) {
  std::vector<Value> taints;
  for (const KindRow& row : kKinds) {
    const Fault* worst = nullptr;
    for (const Fault& fault : faults) {
      if (fault.kind != row.kind || !Concerns(fault, board, device)) continue;
      if (worst == nullptr || fault.effect > worst->effect) worst = &fault;
    }
    if (worst == nullptr) continue;
    Value taint = Value::Object({{"key", row.taint}});
    if (row.kind == Fault::Kind::kXid) taint.Set("value", std::to_string(worst->xid));
    taint.Set("effect", NameOf(worst->effect));
    taints.push_back(std::move(taint));
  }
  return taints;
}

Result<std::vector<Fault>> ParseFaults(std::string_view text) {
  std::vector<Fault> faults;
  while (!text.empty()) {
    std::string_view entry = CutAt(text, ',');
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (entry.empty()) continue;
    DRA_ASSIGN(Fault fault, ParseFault(entry));
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace drachma::gpu
