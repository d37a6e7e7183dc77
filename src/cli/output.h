#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace drachma::cli {

// Exit codes of all commands.
inline constexpr int kFine = 0;
inline constexpr int kNegative = 1;  // the answer is no, or it could not be had
inline constexpr int kWrongUse = 2;

enum class OutputFormat : std::uint8_t { kTable, kJson, kYaml };

// Columns of a terminal, aligned, as kubectl prints them.
class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.size() == 1; }
  // Lines, each ended.
  [[nodiscard]] std::string ToText() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Writes to standard output: as JSON (indented by 2) or YAML.
void PrintValue(const json::Value& value, OutputFormat format);
void Print(std::string_view text);
// Writes "error: …" to standard error and returns `code`.
int PrintError(const Error& error, int code = kNegative);

// One line on standard error that changes while long work goes on; silent when it is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void Say(std::string_view text);
  // Takes the line away.
  void Clear();

 private:
  const bool terminal_;
  std::string shown_;
};

}  // namespace drachma::cli
