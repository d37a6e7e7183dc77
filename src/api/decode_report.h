#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/decode.h"
#include "api/flat_type.h"
#include "json/json.h"

// Where the decoder is in a document, and what it has to tell of it in Go's words: wrong types,
// fields that nobody knows, keys that stand there twice. Private to decode.cc.
namespace drachma::api {

// The state of one decoding but for the values.
class DecodeReport {
 protected:
  // The duplicate keys of one object.
  struct Duplicates {
    std::vector<const json::DuplicateKey*> keys;
  };

  // --- Where we are.

  struct PathStep {
    std::string_view key;
    std::size_t index = 0;
    bool is_index = false;
  };

  struct StackStep {
    const TypeInfo* owner = nullptr;
    const FlatField* flat = nullptr;
  };

  DecodeReport(StrictFields strict, std::span<const json::DuplicateKey> duplicates);

  std::string Path() const;

  void Report(std::string_view what, std::string_view field);

  // The first error of this sort is kept; decoding goes on, as in Go.
  void TypeError(std::string_view got, std::string_view go_type);

  std::string TypeErrorText(std::string_view got, std::string_view go_type) const;

  Duplicates* DuplicatesHere();

  // Those that stand right before the member `number`. `flat` is null for maps, whose keys all
  // count.
  void ReportDuplicates(const Duplicates& duplicates, std::size_t number, const FlatType* flat);

  bool report_;
  std::map<std::string, Duplicates, std::less<>> duplicates_;
  std::vector<PathStep> path_;
  std::vector<StackStep> stack_;
  std::vector<std::string> strict_errors_;
  std::optional<std::string> type_error_;
};

}  // namespace drachma::api
