#include "apiserver/cel_formats.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "cel/ext/convert.h"
#include "net/signing.h"
#include "validation/names.h"

namespace drachma::apiserver {
namespace {

struct Unit {
  std::string_view name;
  bool prefix;  // longer words that begin with it mean it, too
  std::int64_t nanos;
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr auto kUnits = std::to_array<Unit>({{"ns", false, 1},
                                             {"nano", true, 1},
                                             {"us", false, 1000},
                                             {"µs", false, 1000},
                                             {"micro", true, 1000},
                                             {"ms", false, 1'000'000},
                                             {"milli", true, 1'000'000},
                                             {"s", false, kSecond},
                                             {"sec", true, kSecond},
                                             {"m", false, 60 * kSecond},
                                             {"min", true, 60 * kSecond},
                                             {"h", false, kHour},
                                             {"hr", false, kHour},
                                             {"hour", true, kHour},
                                             {"d", false, 24 * kHour},
                                             {"day", true, 24 * kHour},
                                             {"w", false, 7 * 24 * kHour},
                                             {"wk", false, 7 * 24 * kHour},
                                             {"week", true, 7 * 24 * kHour}});

std::optional<std::string> DecodeBytes(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("+/") != std::string_view::npos) {
    return std::nullopt;
  }
  while (text.ends_with('=')) text.remove_suffix(1);
  auto decoded = net::Base64UrlDecode(text);
  return decoded ? std::optional<std::string>(*std::move(decoded)) : std::nullopt;
}

cel::Value Bad(cel::Arena& arena, std::string_view words, std::string_view text) {
  return cel::MakeError(arena, fmt::format("Invalid {} {}", words, text));
}

cel::Value TimestampOf(cel::Arena& arena, std::string_view words, std::string_view text,
                       std::string_view suffix) {
  const cel::Value spelled = cel::MakeString(arena, fmt::format("{}{}", text, suffix));
  const cel::Value value = cel::Convert(arena, spelled, cel::ValueKind::kTimestamp);
  return value.IsError() ? Bad(arena, words, text) : value;
}

}  // namespace

std::optional<std::int64_t> ParseOpenApiDuration(std::string_view text) {
  cel::Arena arena;
  const cel::Value plain =
      cel::Convert(arena, cel::Value::CountedString(text), cel::ValueKind::kDuration);
  if (!plain.IsError()) return plain.duration_nanos();
  static const RE2 kPart(R"((\d+)\s*([A-Za-zµ]+))");
  re2::StringPiece rest(text.data(), text.size());
  std::int64_t count = 0;
  std::string word;
  std::int64_t total = 0;
  bool found = false;
  while (RE2::FindAndConsume(&rest, kPart, &count, &word)) {
    const std::string unit = validation::AsciiLower(word);
    for (const Unit& row : kUnits) {
      if (unit != row.name && !(row.prefix && unit.starts_with(row.name))) continue;
      std::int64_t part = 0;
      if (__builtin_mul_overflow(count, row.nanos, &part) ||
          __builtin_add_overflow(total, part, &total)) {
        return std::nullopt;
      }
      found = true;
    }
  }
  if (!found) return std::nullopt;
  return total;
}

const cel::Type* TypeOfFormat(std::string_view format) {
  if (format == "byte") return &cel::types::kBytes;
  if (format == "duration") return &cel::types::kDuration;
  if (format == "date" || format == "date-time") return &cel::types::kTimestamp;
  return &cel::types::kString;
}

cel::Value ValueOfFormat(cel::Arena& arena, std::string_view format, std::string_view text) {
  if (format == "byte") {
    const auto bytes = DecodeBytes(text);
    if (!bytes) return Bad(arena, "byte formatted string", text);
    return cel::Value::Bytes(arena.CopyString(*bytes));
  }
  if (format == "duration") {
    const auto nanos = ParseOpenApiDuration(text);
    return nanos ? cel::Value::Duration(*nanos) : Bad(arena, "duration", text);
  }
  if (format == "date") return TimestampOf(arena, "date formatted string", text, "T00:00:00Z");
  if (format == "date-time") {
    return TimestampOf(arena, "date-time formatted string", text, {});
  }
  return cel::Value::CountedString(text);
}

}  // namespace drachma::apiserver
