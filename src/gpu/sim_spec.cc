#include "gpu/sim_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <utility>

#include "gpu/gates.h"

namespace drachma::gpu {
namespace {

constexpr std::string_view kForm =
    "MODEL xCOUNT [mig=dynamic | mig=static parts=PROFILE:COUNT,…] [shares=…] [gates=GATE,…]";

// The number that `text` is, from 0 to kGpusPerNodeMax.
std::optional<int> ReadCount(std::string_view text) {
  int count = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (count < 0 || count > kGpusPerNodeMax) return std::nullopt;
  return count;
}

Result<std::vector<WantedParts>> ReadParts(const Model& model, std::string_view text) {
  std::vector<WantedParts> parts;
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(entry.size() + 1, text.size()));
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::string_view name = entry.substr(0, colon);
    const auto profile = std::ranges::find(model.profiles, name, &MigProfile::name);
    if (profile == model.profiles.end()) {
      return Fail(Code::kInvalid, fmt::format("{} has no MIG profile \"{}\"", model.key, name));
    }
    const auto count = ReadCount(colon == entry.size() ? "1" : entry.substr(colon + 1));
    if (!count) return Fail(Code::kInvalid, fmt::format("\"{}\" is not PROFILE:COUNT", entry));
    parts.push_back({.profile = &*profile, .count = *count});
  }
  return parts;
}

Status ReadOption(std::string_view word, SimSpec& spec) {
  if (word == "mig=dynamic") {
    spec.mig = MigMode::kDynamic;
  } else if (word == "mig=static") {
    spec.mig = MigMode::kStatic;
  } else if (word.starts_with("parts=")) {
    DRA_ASSIGN(spec.parts, ReadParts(*spec.model, word.substr(word.find('=') + 1)));
  } else if (word.starts_with("shares=")) {
    DRA_ASSIGN(spec.shares, ParseShares(word.substr(word.find('=') + 1)));
  } else if (word.starts_with("gates=")) {
    std::istringstream names{std::string(word.substr(word.find('=') + 1))};
    for (std::string name; std::getline(names, name, ',');) spec.gates.push_back(name);
  } else {
    return Fail(Code::kInvalid, fmt::format("\"{}\" is none of the words of {}", word, kForm));
  }
  return {};
}

}  // namespace

Result<Shares> ParseShares(std::string_view text) {
  if (text == "disabled") return Shares{};
  if (text == "memory") return Shares{.by = Shares::By::kMemory};
  if (text == "unlimited") return Shares{.by = Shares::By::kUnlimited};
  const std::optional<int> count = ReadCount(text);
  if (count && *count > 0) return Shares{.by = Shares::By::kCount, .count = *count};
  return Fail(Code::kInvalid, fmt::format("\"{}\" is none of disabled, memory, unlimited, 1 to {}",
                                          text, kGpusPerNodeMax));
}

std::string WriteShares(const Shares& shares) {
  switch (shares.by) {
    case Shares::By::kNothing:
      return "disabled";
    case Shares::By::kMemory:
      return "memory";
    case Shares::By::kUnlimited:
      return "unlimited";
    case Shares::By::kCount:
      return std::to_string(shares.count);
  }
  return {};
}

Status CheckSpecGates(const SimSpec& spec) {
  std::vector<std::string> on = spec.gates;
  if (spec.mig == MigMode::kDynamic) on.emplace_back("DynamicMIG");
  if (spec.shares.by != Shares::By::kNothing) on.emplace_back("ConsumableShares");
  return CheckGates(on);
}

std::string WriteSimSpec(const SimSpec& spec) {
  std::string text = fmt::format("{} x{}", spec.model->key, spec.count);
  if (spec.mig == MigMode::kDynamic) text += " mig=dynamic";
  if (spec.mig == MigMode::kStatic) {
    std::vector<std::string> parts;
    for (const WantedParts& want : spec.parts) {
      parts.push_back(fmt::format("{}:{}", want.profile->name, want.count));
    }
    text += fmt::format(" mig=static parts={}", fmt::join(parts, ","));
  }
  if (spec.shares.by != Shares::By::kNothing) text += " shares=" + WriteShares(spec.shares);
  if (!spec.gates.empty()) text += fmt::format(" gates={}", fmt::join(spec.gates, ","));
  return text;
}

Result<SimSpec> ParseSimSpec(std::string_view text) {
  std::istringstream words{std::string(text)};
  std::string key;
  std::string count;
  words >> key >> count;
  SimSpec spec{.model = FindModel(key)};
  if (spec.model == nullptr) {
    return Fail(Code::kInvalid, fmt::format("unknown GPU model \"{}\"", key));
  }
  const auto counted =
      count.starts_with('x') ? ReadCount(std::string_view(count).substr(1)) : std::optional<int>();
  if (!counted) return Fail(Code::kInvalid, fmt::format("\"{}\" is not {}", text, kForm));
  spec.count = *counted;
  for (std::string word; words >> word;) DRA_TRY(ReadOption(word, spec));
  if (!spec.parts.empty() && spec.mig != MigMode::kStatic) {
    return Fail(Code::kInvalid, "parts= is for mig=static");
  }
  DRA_TRY(CheckSpecGates(spec));
  if (spec.mig == MigMode::kStatic) {
    DRA_ASSIGN([[maybe_unused]] const auto placed, PlaceParts(*spec.model, spec.parts));
  }
  return spec;
}

}  // namespace drachma::gpu
