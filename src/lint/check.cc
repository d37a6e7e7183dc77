#include "lint/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "json/yaml.h"
#include "lint/apply.h"
#include "lint/listed.h"
#include "lint/parameters.h"
#include "lint/path.h"
#include "lint/schema.h"
#include "lint/text_form.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Mark;
using json::YamlDocument;

// Line and column of "yaml: line 3: …"; the first line when the text names none.
Mark PlaceInMessage(std::string_view message) {
  constexpr std::string_view kLine = "line ";
  const std::size_t at = message.find(kLine);
  int line = 1;
  if (at != std::string_view::npos) {
    line = std::max(1, std::atoi(std::string(message.substr(at + kLine.size(), 9)).c_str()));
  }
  return {.line = line, .column = 1};
}

// Where byte `offset` of the scalar at `place` stands in the file. Exact for scalars in one line.
Mark PlaceInScalar(const YamlDocument::Place& place, std::string_view text, std::size_t offset) {
  Mark mark = place.value;
  if (place.value_end.line != mark.line) return mark;
  std::size_t line_start = 0;
  for (int line = 1; line < mark.line; ++line) line_start = text.find('\n', line_start) + 1;
  const std::size_t begin = line_start + static_cast<std::size_t>(mark.column) - 1;
  const bool quoted = begin < text.size() && (text[begin] == '"' || text[begin] == '\'');
  mark.column += static_cast<int>(offset) + (quoted ? 1 : 0);
  return mark;
}

// The text of a plain scalar; empty for what is quoted or stands in several lines.
std::string_view PlainText(const YamlDocument::Place& place, std::string_view text) {
  if (place.value_end.line != place.value.line || place.value_end.column <= place.value.column) {
    return {};
  }
  std::size_t line_start = 0;
  for (int line = 1; line < place.value.line; ++line) line_start = text.find('\n', line_start) + 1;
  const std::string_view plain =
      text.substr(line_start + static_cast<std::size_t>(place.value.column) - 1,
                  static_cast<std::size_t>(place.value_end.column - place.value.column));
  return plain.find_first_of("\"'&*!|>") == 0 ? std::string_view() : plain;
}

// Somebody who wrote `n` or 1.10 where a string belongs meant that, not "false" or "1.1".
void MeanWhatIsWritten(const YamlDocument& document, std::string_view text, Finding& finding) {
  if (finding.rule != "wrong-scalar" || !finding.changes.front().value.IsString()) return;
  const YamlDocument::Place& place = document.PlaceOf(finding.path);
  const std::string_view plain = place.path == finding.path ? PlainText(place, text) : "";
  if (plain.empty()) return;
  finding.changes.front().value = plain;
  finding.fix = json::Write(finding.changes.front().value);
}

Mark PlaceOf(const YamlDocument& document, std::string_view text, const Found& found) {
  const YamlDocument::Place& place = document.PlaceOf(found.finding.path);
  if (found.offset_in_scalar && place.path == found.finding.path) {
    return PlaceInScalar(place, text, *found.offset_in_scalar);
  }
  return place.key.line == 0 ? place.value : place.key;
}

// A finding of the API's rules says less than one about an outdated form at the same place.
void DropWhatOldFormsExplain(std::vector<Found>& schema, const std::vector<Found>& old_forms) {
  std::erase_if(schema, [&](const Found& fault) {
    return std::ranges::any_of(old_forms, [&](const Found& old) {
      // What an API server says of defaulted requests, a rule says of what was written.
      const std::size_t resources = old.finding.path.rfind(".resources.");
      if (resources != std::string::npos && old.finding.severity == Severity::kError) {
        constexpr std::string_view kResources = ".resources";
        const auto all =
            std::string_view(old.finding.path).substr(0, resources + kResources.size());
        if (fault.finding.rule == "validation" && IsWithin(fault.finding.path, all)) return true;
      }
      // What moves or goes with the correction is not unknown as well.
      if (fault.finding.rule == "unknown-field" &&
          std::ranges::any_of(old.finding.changes, [&](const Change& change) {
            return change.type == Change::Type::kRemoveMember &&
                   IsWithin(fault.finding.path, change.path);
          })) {
        return true;
      }
      // A kind is not found in a version that is gone; a decoder's text has no indexes.
      if (fault.finding.rule == "unknown-kind") {
        return old.finding.path == "apiVersion" || old.finding.path == "kind";
      }
      if (fault.finding.rule == "wrong-type") {
        return old.finding.rule == "wrong-scalar" || old.finding.rule == "list-wanted" ||
               old.finding.rule == "claims-as-names";
      }
      return old.finding.severity == Severity::kError &&
             (IsWithin(fault.finding.path, old.finding.path) ||
              IsWithin(old.finding.path, fault.finding.path));
    });
  });
}

// Faults of one object in document form; paths begin at the object.
std::vector<Found> FaultsOf(const YamlDocument& object, const RuleContext& context) {
  std::vector<Found> found;
  for (const Rule& rule : Rules()) rule.run(object.value, context, found);
  std::vector<Found> schema;
  FindSchemaFaults(object, schema);
  DropWhatOldFormsExplain(schema, found);
  found.insert(found.end(), std::make_move_iterator(schema.begin()),
               std::make_move_iterator(schema.end()));
  return found;
}

std::vector<Finding> FindAll(std::string_view name, std::string_view text,
                             const std::vector<YamlDocument>& documents,
                             const RuleContext& context) {
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const YamlDocument& document = documents[i];
    for (const ListedObject& object : ObjectsOf(document)) {
      for (Found& one : FaultsOf(object.document, context)) {
        if (!object.path.empty()) MoveTo(object.path, one.finding);
        MeanWhatIsWritten(document, text, one.finding);
        const Mark mark = PlaceOf(document, text, one);
        one.finding.file = name;
        one.finding.line = mark.line;
        one.finding.column = mark.column;
        one.finding.document = i;
        findings.push_back(std::move(one.finding));
      }
    }
  }
  return findings;
}

bool RemovesDocument(const Finding& finding) {
  return std::ranges::any_of(finding.changes, [](const Change& change) {
    return change.type == Change::Type::kRemoveDocument;
  });
}

using Key = std::tuple<std::size_t, std::string, std::string>;
Key KeyOf(const Finding& finding) { return {finding.document, finding.path, finding.rule}; }

// The changes that were made, in the document of its number among all of the file.
struct Mended {
  std::string text;
  std::vector<Finding> made;
};

// The text after the changes of all rules that `wanted` takes. One finding is mended at a time and
// the text is looked at afresh, so that no rule has to know what the others change.
template <typename Wanted>
Mended Mend(std::string_view name, std::string text, const RuleContext& context,
            const Wanted& wanted) {
  std::map<Key, int> tries;
  Mended mended{.text = std::move(text), .made = {}};
  for (int round = 0; round < kFixRoundsMax; ++round) {
    const Result<std::vector<YamlDocument>> documents = json::ReadYaml(mended.text);
    if (!documents) return mended;
    std::vector<Finding> findings = FindAll(name, mended.text, *documents, context);
    // Scalars first: other rules compare them.
    std::ranges::stable_partition(
        findings, [](const Finding& finding) { return finding.rule == "wrong-scalar"; });
    const auto fixable = std::ranges::find_if(findings, [&](const Finding& finding) {
      return !finding.changes.empty() && wanted(finding) && tries[KeyOf(finding)] < kTriesMax;
    });
    if (fixable == findings.end()) return mended;
    Result<std::string> changed = ApplyAll(mended.text, fixable->document, fixable->changes);
    if (!changed || *changed == mended.text || !json::ReadYaml(*changed)) {
      tries[KeyOf(*fixable)] = kTriesMax;
    } else {
      // Behind an item that went, the next one has its path.
      const bool removed = fixable->changes.front().type == Change::Type::kRemoveItem;
      if (!removed) ++tries[KeyOf(*fixable)];
      mended.text = *std::move(changed);
      mended.made.push_back(std::move(*fixable));
    }
  }
  return mended;
}

// The pieces of `text` with one document each; the whole text where it does not come apart so.
std::vector<std::string> Pieces(const std::string& text,
                                const std::vector<YamlDocument>& documents) {
  std::vector<std::string> pieces = DocumentTexts(text);
  std::size_t next = 0;
  for (const std::string& piece : pieces) {
    const Result<std::vector<YamlDocument>> inside = json::ReadYaml(piece);
    if (!inside) return {text};
    for (const YamlDocument& document : *inside) {
      if (next == documents.size() || !(documents[next++].value == document.value)) return {text};
    }
  }
  return next == documents.size() ? pieces : std::vector<std::string>{text};
}

// The findings that offer a change and are still there in the corrected text.
std::vector<CheckedFile::Left> WhatIsLeft(std::string_view name, std::string_view corrected,
                                          const RuleContext& context) {
  std::vector<CheckedFile::Left> left;
  const Result<std::vector<YamlDocument>> documents = json::ReadYaml(corrected);
  if (!documents) return left;
  for (Finding& finding : FindAll(name, corrected, *documents, context)) {
    if (finding.changes.empty()) continue;
    const bool shared = !(*documents)[finding.document].aliases.empty();
    left.push_back(
        {std::move(finding),
         shared ? "anchors and aliases share its text with other places; write it out there first"
                : "the text around it is written in a way that --fix cannot change"});
  }
  return left;
}

bool HasAliases(std::string_view text) {
  const Result<std::vector<YamlDocument>> documents = json::ReadYaml(text);
  return documents && std::ranges::any_of(*documents, [](const YamlDocument& document) {
           return !document.aliases.empty();
         });
}

// Documents are mended each for itself, or a file of many would be read again for every change.
Mended Correct(std::string_view name, const std::string& text,
               const std::vector<YamlDocument>& documents, const RuleContext& context) {
  const auto stays = [](const Finding& finding) { return !RemovesDocument(finding); };
  Mended corrected;
  std::size_t first = 0;  // document of the piece
  for (const std::string& piece : Pieces(text, documents)) {
    Mended mended = Mend(name, piece, context, stays);
    // What aliases share may defy a change. Half a conversion is worse than none.
    const bool whole = mended.text == piece || !HasAliases(piece) ||
                       std::ranges::none_of(WhatIsLeft(name, mended.text, context), stays,
                                            &CheckedFile::Left::finding);
    corrected.text += whole ? mended.text : piece;
    for (Finding& made : mended.made) {
      made.document += first;
      if (whole) corrected.made.push_back(std::move(made));
    }
    const Result<std::vector<YamlDocument>> inside = json::ReadYaml(piece);
    if (inside) first += inside->size();
  }
  corrected.text = Mend(name, std::move(corrected.text), context, RemovesDocument).text;
  return corrected;
}

// What a change brought to light and another one mended: no finding about the text as it was
// written. (A finding of that whose place moved with a change has the same last step.)
std::vector<Finding> Revealed(const std::vector<Finding>& told, std::vector<Finding> made) {
  std::vector<bool> matched(told.size());
  const auto last_step = [](std::string_view path) { return path.substr(path.rfind('.') + 1); };
  const auto forget = [&](const auto& same_place) {
    std::erase_if(made, [&](const Finding& finding) {
      for (std::size_t i = 0; i < told.size(); ++i) {
        const bool same = told[i].document == finding.document && told[i].rule == finding.rule &&
                          same_place(told[i].path, finding.path);
        if (!same || matched[i]) continue;
        matched[i] = true;
        return true;
      }
      return false;
    });
  };
  forget([](std::string_view a, std::string_view b) { return a == b; });
  forget([&](std::string_view a, std::string_view b) { return last_step(a) == last_step(b); });
  return made;
}

void SortByPlace(std::vector<Finding>& findings) {
  std::ranges::stable_sort(findings, {}, [](const Finding& finding) {
    return std::tuple(finding.line, finding.column);
  });
}

// The path in `document` that most of the end of `path` is like: corrections move parts of objects
// to other levels. `path` itself where nothing is.
std::string_view PathAsWritten(const YamlDocument& document, std::string_view path) {
  if (document.PlaceOf(path).path == path) return path;
  std::string_view best = path;
  std::size_t length_max = path.substr(path.rfind('.') + 1).size();  // the last step at least
  for (const YamlDocument::Place& place : document.places) {
    const auto [end, other] =
        std::mismatch(path.rbegin(), path.rend(), place.path.rbegin(), place.path.rend());
    const auto length = static_cast<std::size_t>(end - path.rbegin());
    if (length < length_max || (length == length_max && best != path)) continue;
    length_max = length;
    best = place.path;
  }
  return best;
}

// A revealed finding as one about the text as it was written. It is only outdated there, unless
// other findings say that the document is wrong.
Finding AsWritten(Finding finding, const std::vector<Finding>& told, const YamlDocument& document,
                  std::string_view text) {
  const bool wrong = std::ranges::any_of(told, [&](const Finding& other) {
    return other.document == finding.document && other.severity == Severity::kError;
  });
  if (!wrong) finding.severity = Severity::kWarning;
  finding.path = PathAsWritten(document, finding.path);
  const Mark mark = PlaceOf(document, text, {.finding = finding});
  finding.line = mark.line;
  finding.column = mark.column;
  return finding;
}

}  // namespace

const char* SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

CheckedFile CheckText(std::string_view name, std::string_view given_text,
                      const RuleContext& given) {
  const bool utf16 = IsUtf16(given_text);
  const std::string text = utf16 ? std::string(given_text) : PlainForm(given_text);
  RuleContext context = given;
  if (context.parameters.empty() && context.objects.empty()) {
    context = ContextOf(context.driver, std::array{std::string_view(text)});
  }
  CheckedFile checked{
      .name = std::string(name), .findings = {}, .corrected = std::string(given_text), .left = {}};
  const Result<std::vector<YamlDocument>> documents = json::ReadYaml(text);
  if (!documents) {
    const Mark mark = PlaceInMessage(documents.error().message);
    checked.findings.push_back({.file = checked.name,
                                .line = mark.line,
                                .column = mark.column,
                                .rule = "yaml",
                                .message = documents.error().message});
    return checked;
  }
  checked.findings = FindAll(name, text, *documents, context);
  if (utf16) {
    SortByPlace(checked.findings);
    for (const Finding& finding : checked.findings) {
      if (finding.changes.empty()) continue;
      checked.left.push_back({finding, "the file is UTF-16; convert it to UTF-8 first"});
    }
    return checked;
  }
  Mended mended = Correct(name, text, *documents, context);
  std::vector<Finding> revealed = Revealed(checked.findings, std::move(mended.made));
  for (Finding& finding : revealed) {
    const YamlDocument& document = (*documents)[finding.document];
    finding = AsWritten(std::move(finding), checked.findings, document, text);
  }
  std::ranges::move(revealed, std::back_inserter(checked.findings));
  SortByPlace(checked.findings);
  checked.left = WhatIsLeft(name, mended.text, context);
  if (mended.text != text) checked.corrected = WithFormOf(given_text, mended.text);
  return checked;
}

std::string FormatFinding(const Finding& finding) {
  std::string line =
      fmt::format("{}:{}:{}: {}: {} [{}]\n", finding.file, finding.line, finding.column,
                  SeverityName(finding.severity), finding.message, finding.rule);
  if (!finding.fix.empty()) line += fmt::format("    write: {}\n", finding.fix);
  return line;
}

json::Value ToJson(const Finding& finding) {
  return json::Value::Object({{"file", finding.file},
                              {"line", finding.line},
                              {"column", finding.column},
                              {"rule", finding.rule},
                              {"severity", SeverityName(finding.severity)},
                              {"message", finding.message},
                              {"fix", finding.fix}});
}

}  // namespace drachma::lint
