// JSON paths in definitions: selectable fields, and where rules say that their faults are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apiserver/definition_rules.h"

namespace drachma::apiserver {
namespace {

using json::Value;
using validation::Child;
using validation::ErrorList;
using validation::Index;
using validation::Invalid;
using validation::ShownText;

constexpr std::size_t kSelectableFieldsMax = 8;

// Delimiters and what stands between them; quoted texts are one token.
std::vector<std::string_view> Tokens(std::string_view path) {
  std::vector<std::string_view> tokens;
  while (!path.empty()) {
    std::size_t end = 1;
    if (path.front() == '\'') {
      while (end < path.size() && (path[end] != '\'' || path[end - 1] == '\\')) ++end;
      end = std::min(end + 1, path.size());
    } else if (std::string_view(".[]").find(path.front()) == std::string_view::npos) {
      end = std::min(path.find_first_of(".[]"), path.size());
    }
    tokens.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return tokens;
}

std::string Unquoted(std::string_view token) {
  std::string text;
  for (std::size_t i = 1; i + 1 < token.size(); ++i) {
    if (token[i] == '\\' && i + 2 < token.size()) ++i;
    text.push_back(token[i]);
  }
  return text;
}

// One step down a schema: `name` goes to the path as upstream writes it there.
Status Step(const Value*& schema, std::string& path, const std::string& name) {
  if (!(*schema)["properties"].IsNull()) {
    path = path.empty() ? name : Child(path, name);
    schema = (*schema)["properties"].Find(name);
  } else if (!(*schema)["additionalProperties"].IsNull()) {
    path = validation::Key(path, name);
    schema = &(*schema)["additionalProperties"];
  } else {
    schema = nullptr;
  }
  if (schema == nullptr) return BadInput("does not refer to a valid field");
  return {};
}

}  // namespace

Result<SchemaPlace> FindSchemaPlace(const Value& schema, std::string_view json_path,
                                    ArrayNotation notation) {
  const std::vector<std::string_view> tokens = Tokens(json_path);
  SchemaPlace place;
  const Value* at = &schema;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool bracket = tokens[i] == "[";
    if (!bracket && tokens[i] != ".") {
      return BadInput(fmt::format("expected [ or . but got: {}", tokens[i]));
    }
    if (bracket && notation == ArrayNotation::kRefused) {
      return BadInput("array notation is not allowed");
    }
    if (++i == tokens.size()) return BadInput("unexpected end of JSON path");
    const std::string_view token = tokens[i];
    if (!bracket) {
      DRA_TRY(Step(at, place.path, std::string(token)));
      continue;
    }
    if (token.size() < 2 || token.front() != '\'' || token.back() != '\'') {
      return BadInput(fmt::format("expected single quoted string but got {}", token));
    }
    DRA_TRY(Step(at, place.path, Unquoted(token)));
    if (++i == tokens.size()) return BadInput("unexpected end of JSON path");
    if (tokens[i] != "]") return BadInput(fmt::format("expected ] but got {}", tokens[i]));
  }
  place.schema = *at;
  return place;
}

ErrorList SelectableFieldFaults(const Value& fields, const Value& schema, const std::string& path) {
  static constexpr auto kTypes = std::to_array<std::string_view>({"string", "boolean", "integer"});
  ErrorList errors;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string at = Child(Index(path, i), "jsonPath");
    const std::string_view text = fields.Items()[i]["jsonPath"].AsString();
    if (text.empty()) {
      errors.push_back(validation::Required(at));
      continue;
    }
    const Result<SchemaPlace> place = FindSchemaPlace(schema, text, ArrayNotation::kRefused);
    if (!place) {
      errors.push_back(
          Invalid(at, ShownText(text), "is an invalid path: " + place.error().message));
      continue;
    }
    if (place->path.substr(0, place->path.find_first_of(".[")) == "metadata") {
      errors.push_back(Invalid(at, ShownText(text), "must not point to fields in metadata"));
    }
    if (std::ranges::find(kTypes, place->schema["type"].AsString()) == kTypes.end()) {
      errors.push_back(Invalid(at, ShownText(text),
                               "must point to a field of type string, boolean or integer. Enum "
                               "string fields and strings with formats are allowed."));
    }
    if (!seen.insert(place->path).second) {
      errors.push_back(validation::Duplicate(at, ShownText(text)));
    }
  }
  if (seen.size() > kSelectableFieldsMax) {
    errors.push_back(validation::TooMany(path, seen.size(), kSelectableFieldsMax));
  }
  return errors;
}

}  // namespace drachma::apiserver
