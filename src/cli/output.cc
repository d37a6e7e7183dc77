#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "json/json.h"
#include "json/yaml.h"

namespace drachma::cli {
namespace {

// Characters rather than bytes, for columns of UTF-8 text.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string Table::ToText() const {
  constexpr std::size_t kGap = 3;
  std::vector<std::size_t> widths;
  for (const auto& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - Width(row[i]) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

namespace {

// Names of files may hold bytes that end a C string or that a terminal obeys.
std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F;
    printable += control ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
  }
  return printable;
}

}  // namespace

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void PrintValue(const json::Value& value, OutputFormat format) {
  if (format == OutputFormat::kYaml) {
    Print(json::WriteYaml(value, json::KeyOrder::kAsIs));
  } else {
    Print(json::WritePretty(value, 2) + "\n");
  }
}

int PrintError(const Error& error, int code) {
  const std::string text = "error: " + Printable(error.message) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
  return code;
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}
Progress::~Progress() { Clear(); }

void Progress::Say(std::string_view text) {
  if (!terminal_ || text == shown_) return;
  Clear();
  shown_ = text;
  std::fprintf(stderr, "%s", shown_.c_str());
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!terminal_ || shown_.empty()) return;
  std::fprintf(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_.clear();
}

}  // namespace drachma::cli
