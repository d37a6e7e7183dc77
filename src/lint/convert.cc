#include "lint/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "json/json.h"
#include "json/yaml.h"
#include "lint/apply.h"
#include "lint/check.h"
#include "lint/convert_extended.h"
#include "lint/convert_pod.h"
#include "lint/editor.h"
#include "lint/listed.h"
#include "lint/parameters.h"
#include "lint/path.h"
#include "lint/text_form.h"
#include "lint/tree.h"

namespace drachma::lint {
namespace {

using json::Value;
using json::YamlDocument;

// A document is a mapping in flow style: JSON has no documents beside it.
bool IsJson(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \n\t");
  return first != std::string_view::npos && text[first] == '{';
}

std::vector<YamlDocument> DocumentsOf(std::string_view text) {
  return json::ReadYaml(text).value_or(std::vector<YamlDocument>());
}

// All objects, those of lists, too.
std::vector<Value> ObjectsOf(std::string_view text) {
  std::vector<Value> objects;
  for (const YamlDocument& document : DocumentsOf(text)) {
    for (ListedObject& object : lint::ObjectsOf(document)) {
      objects.push_back(std::move(object.document.value));
    }
  }
  return objects;
}

std::string KeyOf(const Value& object, std::string_view name) {
  return fmt::format("{}/{}", object["metadata"]["namespace"].AsString("default"), name);
}

// A document. The writer folds long expressions; in one line they are found and copied.
std::string Written(const Value& object) {
  constexpr std::string_view kExpression = "expression: ";
  const std::string folded = json::WriteYaml(object, json::KeyOrder::kAsIs);
  std::string text;
  std::size_t inside = std::string::npos;  // the column of an expression's key
  for (std::size_t begin = 0; begin < folded.size();) {
    const std::size_t end = folded.find('\n', begin);
    const std::string_view line = std::string_view(folded).substr(begin, end - begin);
    const std::size_t indent = line.find_first_not_of(' ');
    if (inside != std::string::npos && indent > inside) {
      text.back() = ' ';
      text += line.substr(indent);
    } else {
      inside = line.substr(indent).starts_with(kExpression) ? indent : std::string::npos;
      text += line;
    }
    text += '\n';
    begin = end + 1;
  }
  return text;
}

// Templates that the pods of an object name.
void NoteTemplates(const Value& object, std::set<std::string>& used) {
  for (const std::string& path : PodSpecPathsOf(object)) {
    for (const Value& claim : ValueAt(object, path)["resourceClaims"].Items()) {
      const std::string_view name = claim["resourceClaimTemplateName"].AsString();
      if (!name.empty()) used.insert(KeyOf(object, name));
    }
  }
}

class Converter {
 public:
  Converter(std::span<const FileText> files, const ConvertOptions& options)
      : to_(options.to), catalog_(Correct(files, options.driver), options.keep) {}

  std::vector<ConvertedFile> Run() {
    for (std::size_t i = 0; i < out_.size(); ++i) ConvertFile(i);
    if (to_ == ConvertTo::kExtended) RemoveUnusedTemplates();
    for (std::size_t i = 0; i < out_.size(); ++i) {
      out_[i].text = WithFormOf(given_[i], out_[i].text);
      std::ranges::stable_sort(out_[i].findings, {}, [](const Finding& finding) {
        return std::tuple(finding.line, finding.column);
      });
    }
    return std::move(out_);
  }

 private:
  // Old versions and forms first: what follows speaks of today's. Returns all objects.
  std::vector<Value> Correct(std::span<const FileText> files, const std::string& driver) {
    std::vector<std::string_view> texts;
    for (const FileText& file : files) texts.emplace_back(file.text);
    const RuleContext context = ContextOf(driver, texts);
    std::vector<Value> all;
    for (const FileText& file : files) {
      CheckedFile checked = CheckText(file.name, file.text, context);
      const std::vector<YamlDocument> documents = DocumentsOf(PlainForm(file.text));
      const bool config = documents.size() == 1 && IsPluginConfig(documents.front().value);
      ConvertedFile converted{.name = file.name,
                              .findings = {},
                              .text = PlainForm(checked.corrected),
                              .manifest = !config};
      for (Finding& finding : checked.findings) {
        const bool mended = !finding.changes.empty();
        if (!mended && !config && finding.severity == Severity::kError) {
          converted.findings.push_back(std::move(finding));
        }
      }
      for (CheckedFile::Left& left : checked.left) {
        left.finding.message += fmt::format("; not corrected: {}", left.reason);
        left.finding.severity = Severity::kError;
        converted.findings.push_back(std::move(left.finding));
      }
      for (Value& object : ObjectsOf(converted.text)) all.push_back(std::move(object));
      given_.push_back(file.text);
      out_.push_back(std::move(converted));
    }
    for (const Value& object : all) {
      if (object["kind"].AsString() == "ResourceClaimTemplate") {
        templates_.emplace(KeyOf(object, object["metadata"]["name"].AsString()), object);
      }
      NoteTemplates(object, used_);
    }
    return all;
  }

  void ConvertFile(std::size_t index) {
    ConvertedFile& file = out_[index];
    if (!file.manifest || IsUtf16(given_[index])) return;
    places_ = DocumentsOf(PlainForm(given_[index]));
    if (places_.size() != DocumentsOf(file.text).size()) places_ = DocumentsOf(file.text);
    std::string text;
    std::size_t first = 0;
    for (const std::string& piece : DocumentTexts(file.text)) {
      const std::size_t count = DocumentsOf(piece).size();
      text += ConvertPiece(piece, first, count, file);
      first += count;
    }
    file.text = std::move(text);
  }

  // The piece of a text with the documents from number `first` on.
  std::string ConvertPiece(std::string piece, std::size_t first, std::size_t count,
                           ConvertedFile& file) {
    std::vector<Value> made;
    for (std::size_t i = 0; i < count; ++i) {
      for (const ListedObject& object : lint::ObjectsOf(DocumentsOf(piece)[i])) {
        Conversion conversion = ConvertObject(object.document.value);
        for (Found& found : conversion.found) {
          Report(std::move(found), object.path, first + i, file);
        }
        if (conversion.refused() || (conversion.changes.empty() && conversion.made.empty())) {
          continue;
        }
        if (!object.path.empty()) MoveIntoList(object.path, conversion);
        Result<std::string> changed = ApplyVerified(piece, i, conversion.changes);
        if (!changed) {
          Report(MakeFound("", "not-converted", changed.error().message, ""), object.path,
                 first + i, file);
          continue;
        }
        piece = *std::move(changed);
        std::ranges::move(conversion.made, std::back_inserter(made));
      }
    }
    return made.empty() ? piece : WithObjects(std::move(piece), made);
  }

  Conversion ConvertObject(const Value& object) {
    if (to_ == ConvertTo::kExtended) return PodToExtended(object, catalog_, templates_, offered_);
    Conversion conversion = PodToClaims(object, catalog_);
    if (!conversion.changes.empty() || !conversion.found.empty()) return conversion;
    return QuotaToClaims(object, catalog_);
  }

  // An object of a list: what it needs becomes further items.
  static void MoveIntoList(const std::string& path, Conversion& conversion) {
    Finding moved{.changes = std::move(conversion.changes)};
    MoveTo(path, moved);
    conversion.changes = std::move(moved.changes);
    for (Value& object : conversion.made) {
      conversion.changes.push_back(
          {.type = Change::Type::kAppendItem, .path = Parent(path), .value = std::move(object)});
    }
    conversion.made.clear();
  }

  // The text after the changes, if it then says what it should.
  // ERRORS: kBadRequest: the text is written in a way that cannot be changed.
  static Result<std::string> ApplyVerified(const std::string& text, std::size_t number,
                                           const std::vector<Change>& changes) {
    Value wanted = DocumentsOf(text)[number].value;
    for (const Change& change : changes) {
      DRA_ASSIGN(wanted, ApplyToTree(std::move(wanted), change));
    }
    Result<std::string> changed = ApplyAll(text, number, changes);
    if (changed) {
      const std::vector<YamlDocument> documents = DocumentsOf(*changed);
      if (number < documents.size() && documents[number].value == wanted) return changed;
    }
    return BadInput(
        "the text is written in a way that cannot be changed (anchors and aliases?); write it out "
        "first");
  }

  // The documents that were made, before those that need them.
  static std::string WithObjects(std::string piece, const std::vector<Value>& made) {
    if (IsJson(piece)) {
      Value items = Value::Array();
      for (const Value& object : made) items.Append(object);
      for (const YamlDocument& document : DocumentsOf(piece)) items.Append(document.value);
      const Value list = Value::Object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", items}});
      return (piece.find('\n') + 1 < piece.size() ? json::WritePretty(list, 2)
                                                  : json::Write(list)) +
             "\n";
    }
    std::string text;
    std::string_view rest = piece;
    constexpr std::string_view kSeparator = "---";
    if (rest.starts_with(kSeparator)) {
      const std::size_t end = rest.find('\n');
      // "--- # comment" and "--- {a: b}" stay with what follows.
      if (rest.substr(0, end) == kSeparator) rest.remove_prefix(end + 1);
      text = "---\n";
    }
    for (const Value& object : made) {
      text += Written(object);
      if (&object != &made.back() || !rest.starts_with(kSeparator)) text += "---\n";
    }
    return text.append(rest);
  }

  void Report(Found found, const std::string& object_path, std::size_t document,
              ConvertedFile& file) const {
    Finding& finding = found.finding;
    if (!object_path.empty()) MoveTo(object_path, finding);
    const YamlDocument::Place& place = places_[document].PlaceOf(finding.path);
    const json::Mark mark = place.key.line == 0 ? place.value : place.key;
    finding.file = file.name;
    finding.line = mark.line;
    finding.column = mark.column;
    finding.document = document;
    file.findings.push_back(std::move(finding));
  }

  // Templates that only pods used which ask by the name of a resource now.
  void RemoveUnusedTemplates() {
    std::set<std::string> used;
    for (const ConvertedFile& file : out_) {
      for (const Value& object : ObjectsOf(file.text)) NoteTemplates(object, used);
    }
    for (ConvertedFile& file : out_) {
      for (bool removed = true; removed;) removed = RemoveOneTemplate(file, used);
    }
  }

  bool RemoveOneTemplate(ConvertedFile& file, const std::set<std::string>& used) const {
    const std::vector<YamlDocument> documents = DocumentsOf(file.text);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      for (const ListedObject& object : lint::ObjectsOf(documents[i])) {
        const Value& value = object.document.value;
        const std::string key = KeyOf(value, value["metadata"]["name"].AsString());
        const bool idle = value["kind"].AsString() == "ResourceClaimTemplate" &&
                          used_.contains(key) && !used.contains(key);
        if (!idle) continue;
        Finding removal{.changes = {{.type = Change::Type::kRemoveDocument}}};
        if (!object.path.empty()) MoveTo(object.path, removal);
        Result<std::string> text = ApplyAll(file.text, i, removal.changes);
        if (!text) continue;
        file.text = *std::move(text);
        return true;
      }
    }
    return false;
  }

  const ConvertTo to_;
  std::vector<ConvertedFile> out_;
  std::vector<std::string> given_;
  ClaimTemplates templates_;
  std::set<std::string> used_;        // templates, before the conversion
  PluginCatalog catalog_;             // after what Correct fills
  std::vector<YamlDocument> places_;  // of the file at hand, as it was given
  std::set<std::string> offered_;
};

}  // namespace

std::vector<ConvertedFile> Convert(std::span<const FileText> files, const ConvertOptions& options) {
  return Converter(files, options).Run();
}

}  // namespace drachma::lint
