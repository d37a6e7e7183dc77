#include "lint/editor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "json/json.h"
#include "lint/flow.h"
#include "lint/path.h"

namespace drachma::lint {
namespace {

using json::Mark;
using json::Value;
using json::YamlDocument;
using Place = YamlDocument::Place;

std::unexpected<Error> NoSuchPath(std::string_view path) {
  return BadInput(fmt::format("the document has no \"{}\"", path));
}

// A step that is no key may be the beginning of one with dots ("nvidia.com/gpu").
Value* FindForChange(Value& root, const std::vector<Step>& steps) {
  Value* at = &root;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    if (const auto* first = std::get_if<std::string>(&step)) {
      std::string key = *first;
      while (!at->Has(key)) {
        if (i + 1 >= steps.size() || !std::holds_alternative<std::string>(steps[i + 1])) {
          return nullptr;
        }
        key.append(".").append(std::get<std::string>(steps[++i]));
      }
      at = &at->Edit(key);
    } else {
      const std::size_t index = std::get<std::size_t>(step);
      if (!at->IsArray() || index >= at->size()) return nullptr;
      at = &at->EditItem(index);
    }
  }
  return at;
}

// `object` with `replace(member)` appended for every member; the way to keep their order.
template <typename Emit>
Value Rebuilt(const Value& object, const Emit& emit) {
  Value result = Value::Object();
  for (const json::Member& member : object.Members()) emit(result, member);
  return result;
}

Value WithInserted(const Value& object, const Change& change) {
  if (!object.Has(change.before)) {
    Value result = object;
    result.Set(change.key, change.value);
    return result;
  }
  return Rebuilt(object, [&](Value& result, const json::Member& member) {
    if (member.key() == change.before) result.Set(change.key, change.value);
    result.Set(member.key(), member.value);
  });
}

Value WithReplaced(const Value& object, std::string_view old_key, const Change& change) {
  return Rebuilt(object, [&](Value& result, const json::Member& member) {
    if (member.key() == old_key) {
      result.Set(change.key, change.value);
    } else {
      result.Set(member.key(), member.value);
    }
  });
}

Value WithoutItem(const Value& list, std::size_t index) {
  Value result = Value::Array();
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != index) result.Append(list.Items()[i]);
  }
  return result;
}

// Edits the lines of one document.
class TextEditor {
 public:
  TextEditor(std::string_view text, const YamlDocument& document)
      : text_(text), document_(document) {
    line_starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_starts_.push_back(i + 1);
    }
    // Places stand parents first. Keys may have dots, so a path alone does not tell its parent.
    std::vector<std::string_view> open;
    for (const Place& place : document.places) {
      while (!open.empty() && !IsWithin(place.path, open.back())) open.pop_back();
      parents_.push_back(open.empty() ? std::string_view() : open.back());
      open.emplace_back(place.path);
    }
  }

  Result<std::string> SetValue(std::string_view path, const Value& value) {
    const Place* place = Find(path);
    if (place == nullptr) return NoSuchPath(path);
    const bool member = place->key.line != 0;
    const std::size_t end = SubtreeEnd(*place);
    const std::size_t begin = Begin(*place);
    if (IsScalar(value) && end > begin && !HasChildren(*place)) {
      return Replace(begin, end, Scalar(value, text_[begin]));
    }
    if (member) {
      const Value wrapped = Value::Object({{LastKey(path), value}});
      return Replace(Offset(place->key), std::max(end, KeyEnd(*place)),
                     Block(wrapped, Column(place->key)));
    }
    return Replace(begin, end, Block(value, begin - LineStart(begin)));
  }

  Result<std::string> ReplaceMember(std::string_view path, const Change& change) {
    const Place* place = Find(path);
    if (place == nullptr) return NoSuchPath(path);
    const Value wrapped = Value::Object({{change.key, change.value}});
    return Replace(Offset(place->key), std::max(SubtreeEnd(*place), KeyEnd(*place)),
                   Block(wrapped, Column(place->key)));
  }

  Result<std::string> InsertMember(std::string_view path, const Change& change) {
    const Place* last = LastChild(path);
    if (last == nullptr) return SetValue(path, Value::Object({{change.key, change.value}}));
    const Value wrapped = Value::Object({{change.key, change.value}});
    if (const Place* before = Find(Child(path, change.before));
        !change.before.empty() && before != nullptr) {
      const std::string block = Block(wrapped, Column(before->key));
      return Insert(Offset(before->key), block + "\n" + std::string(Column(before->key), ' '));
    }
    const std::string block = Block(wrapped, Column(last->key));
    return Insert(AfterComment(SubtreeEnd(*last)),
                  "\n" + std::string(Column(last->key), ' ') + block);
  }

  Result<std::string> AppendItem(std::string_view path, const Value& item) {
    const Place* last = LastChild(path);
    if (last == nullptr) return SetValue(path, Value::Array({item}));
    const std::size_t dash = text_.rfind('-', Offset(last->value) - 1);
    const std::size_t indent = dash - LineStart(dash);
    return Insert(AfterComment(SubtreeEnd(*last)),
                  "\n" + std::string(indent, ' ') + "- " + Block(item, indent + 2));
  }

  Result<std::string> RemoveMember(std::string_view path) {
    const Place* place = Find(path);
    if (place == nullptr) return NoSuchPath(path);
    const std::string parent(ParentOf(*place));
    if (Children(parent).size() == 1) return SetValue(parent, Value::Object());
    const std::size_t begin = Offset(place->key);
    const std::string_view before = text_.substr(LineStart(begin), begin - LineStart(begin));
    if (before.find_first_not_of(' ') == std::string_view::npos) {
      const std::size_t line_end = text_.find('\n', SubtreeEnd(*place));
      return Replace(LineStart(begin),
                     line_end == std::string_view::npos ? text_.size() : line_end + 1, "");
    }
    // The first member of a list item: the dash stays for the next one.
    for (const Place* sibling : Children(parent)) {
      if (Offset(sibling->key) > begin) return Replace(begin, Offset(sibling->key), "");
    }
    return NoSuchPath(path);
  }

  Result<std::string> RemoveItem(std::string_view path) {
    const Place* place = Find(path);
    if (place == nullptr) return NoSuchPath(path);
    const std::string list = Parent(path);
    if (Children(list).size() == 1) return SetValue(list, Value::Array());
    const std::size_t dash = text_.rfind('-', Offset(place->value) - 1);
    const std::size_t line_end = text_.find('\n', SubtreeEnd(*place));
    return Replace(LineStart(dash),
                   line_end == std::string_view::npos ? text_.size() : line_end + 1, "");
  }

  // With the comments before it, as far as the separators around it.
  Result<std::string> RemoveDocument() const {
    const auto separates = [&](std::size_t line) {
      const std::string_view rest = text_.substr(line_starts_[line]);
      return rest.starts_with("---") && (rest.size() == 3 || std::isspace(rest[3]) != 0);
    };
    const auto at = static_cast<std::size_t>(document_.places.front().value.line) - 1;
    std::size_t first = at;
    while (first > 0 && !separates(first)) --first;
    std::size_t next = at + 1;
    while (next < line_starts_.size() && !separates(next)) ++next;
    const bool is_last = next == line_starts_.size();
    // The first document goes with the separator behind it, others with the one before.
    const bool is_first = !separates(first);
    if (is_first && !is_last) ++next;
    const std::size_t end = next >= line_starts_.size() ? text_.size() : line_starts_[next];
    return Replace(line_starts_[first], end, "");
  }

  // The outermost flow-style node that `path` stands in (or is), if any.
  [[nodiscard]] const Place* FlowAround(std::string_view path) const {
    for (const Place& place : document_.places) {
      if (!IsWithin(path, place.path) || place.value.line == 0) continue;
      if (IsFlow(place)) return &place;
    }
    return nullptr;
  }

  std::string ReplaceFlow(const Place& flow, const Value& value) {
    return Replace(Begin(flow), Offset(flow.value_end), WriteFlow(value, StyleOf(flow)));
  }

  // `change` inside the flow node `flow`, everything else of it left as it is; nothing when the
  // place is not as expected. Whether the text then says what it should is the caller's to see.
  std::optional<std::string> ChangeInFlow(const Place& flow, const Change& change) {
    const FlowStyle style = StyleOf(flow);
    const Place* place = Find(change.path);
    if (place == nullptr) return std::nullopt;
    const std::size_t end = Offset(place->value_end);
    const auto member = [&] { return WriteFlowMember(change.key, change.value, style); };
    const std::vector<const Place*> inside = Children(change.path);
    switch (change.type) {
      case Change::Type::kSetValue:
        return Replace(Begin(*place), end, WriteFlow(change.value, style));
      case Change::Type::kReplaceMember:
        return Replace(Offset(place->key), end, member());
      case Change::Type::kInsertMember: {
        if (inside.empty()) break;
        const Place* before =
            change.before.empty() ? nullptr : Find(Child(change.path, change.before));
        if (before != nullptr) return Insert(Offset(before->key), member() + Comma(style));
        return Insert(Offset(inside.back()->value_end), Comma(style) + member());
      }
      case Change::Type::kAppendItem:
        if (inside.empty()) break;
        return Insert(Offset(inside.back()->value_end),
                      Comma(style) + WriteFlow(change.value, style));
      case Change::Type::kRemoveMember: {
        const std::vector<const Place*> siblings = Children(ParentOf(*place));
        const auto here = std::ranges::find(siblings, place);
        if (here == siblings.end() || siblings.size() == 1) break;
        if (std::next(here) != siblings.end()) {
          return Replace(Offset(place->key), Offset((*std::next(here))->key), "");
        }
        return Replace(Offset((*std::prev(here))->value_end), end, "");
      }
      case Change::Type::kRemoveItem:
      case Change::Type::kRemoveDocument:
        break;
    }
    return std::nullopt;
  }

 private:
  // JSON when the first key of the node has quotes, compact when nothing follows its colon.
  [[nodiscard]] FlowStyle StyleOf(const Place& flow) const {
    const std::size_t begin = Begin(flow);
    const std::string_view text = text_.substr(begin, Offset(flow.value_end) - begin);
    const std::size_t first = text.find_first_not_of("[{ \n");
    if (first == std::string_view::npos || text[first] != '"') return FlowStyle::kPlain;
    return text.find("\": ") == std::string_view::npos ? FlowStyle::kCompactJson : FlowStyle::kJson;
  }

  static bool IsScalar(const Value& value) { return !value.IsArray() && !value.IsObject(); }

  static std::string LastKey(std::string_view path) {
    const std::size_t dot = path.rfind('.');
    return std::string(dot == std::string_view::npos ? path : path.substr(dot + 1));
  }

  [[nodiscard]] std::size_t LineStart(std::size_t offset) const {
    return *std::prev(std::ranges::upper_bound(line_starts_, offset));
  }
  static std::size_t Column(Mark mark) { return static_cast<std::size_t>(mark.column) - 1; }

  // Where the value itself begins, behind its anchor and tag.
  [[nodiscard]] std::size_t Begin(const Place& place) const {
    std::size_t at = Offset(place.value);
    while (at < text_.size() && (text_[at] == '&' || text_[at] == '!')) {
      const std::size_t space = text_.find_first_of(" \n", at);
      if (space == std::string_view::npos) break;
      const std::size_t next = text_.find_first_not_of(" \n", space);
      if (next == std::string_view::npos || next >= Offset(place.value_end)) break;
      at = next;
    }
    return at;
  }

  // Columns count code points; offsets are bytes.
  [[nodiscard]] std::size_t Offset(Mark mark) const {
    if (static_cast<std::size_t>(mark.line) > line_starts_.size()) return text_.size();
    std::size_t offset = line_starts_[static_cast<std::size_t>(mark.line) - 1];
    const auto continues = [&](std::size_t at) {
      return at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U;
    };
    for (std::size_t i = Column(mark); i > 0 && offset < text_.size(); --i) {
      ++offset;
      while (continues(offset)) ++offset;
    }
    return offset;
  }

  [[nodiscard]] const Place* Find(std::string_view path) const {
    const auto found = std::ranges::find(document_.places, path, &Place::path);
    return found == document_.places.end() ? nullptr : &*found;
  }

  // The path of the node that `place` stands in; keys may have dots.
  [[nodiscard]] std::string_view ParentOf(const Place& place) const {
    return parents_[static_cast<std::size_t>(&place - document_.places.data())];
  }

  [[nodiscard]] std::vector<const Place*> Children(std::string_view path) const {
    std::vector<const Place*> children;
    for (std::size_t i = 0; i < document_.places.size(); ++i) {
      const Place& place = document_.places[i];
      if (!place.path.empty() && parents_[i] == path) children.push_back(&place);
    }
    return children;
  }

  [[nodiscard]] bool HasChildren(const Place& place) const { return LastChild(place.path); }

  [[nodiscard]] const Place* LastChild(std::string_view path) const {
    const std::vector<const Place*> children = Children(path);
    return children.empty() ? nullptr : children.back();
  }

  // The end of the text of a node. The reader's end of a block collection lies behind the comments
  // and blank lines that follow, so the ends of the scalars and flow nodes in it count.
  [[nodiscard]] std::size_t SubtreeEnd(const Place& place) const {
    std::size_t end = place.key.line == 0 ? Offset(place.value) : KeyEnd(place);
    for (const Place& candidate : document_.places) {
      if (!IsWithin(candidate.path, place.path)) continue;
      if (candidate.key.line != 0) end = std::max(end, KeyEnd(candidate));
      if (IsFlow(candidate) || !HasChildren(candidate)) end = std::max(end, LeafEnd(candidate));
    }
    return end;
  }

  // The end of the line where nothing but a comment follows in it: a new line goes behind that.
  [[nodiscard]] std::size_t AfterComment(std::size_t end) const {
    const std::size_t line_end = std::min(text_.find('\n', end), text_.size());
    const std::size_t next = text_.find_first_not_of(' ', end);
    return next < line_end && text_[next] != '#' ? end : line_end;
  }

  [[nodiscard]] bool IsFlow(const Place& place) const {
    const std::size_t begin = Begin(place);
    return begin < text_.size() && (text_[begin] == '{' || text_[begin] == '[');
  }

  [[nodiscard]] std::size_t LeafEnd(const Place& leaf) const {
    std::size_t end = std::max(Offset(leaf.value_end), Offset(leaf.value));
    if (!IsFlow(leaf) && leaf.value_end.line > leaf.value.line) {
      // A block scalar ends at the start of the next line.
      while (end > 0 && (text_[end - 1] == '\n' || text_[end - 1] == ' ')) --end;
    }
    return end;
  }

  // Behind the colon of a member.
  [[nodiscard]] std::size_t KeyEnd(const Place& place) const {
    std::size_t at = Offset(place.key);
    if (at < text_.size() && (text_[at] == '"' || text_[at] == '\'')) {
      at = text_.find(text_[at], at + 1);
    }
    const std::size_t colon = text_.find(':', at);
    return colon == std::string_view::npos ? text_.size() : colon + 1;
  }

  // `value` as it may stand behind "key: ", in the quotes that stood there before.
  static std::string Scalar(const Value& value, char old_first) {
    if (value.IsString() && old_first == '"') return json::Write(value);
    if (value.IsString() && old_first == '\'') {
      std::string quoted = "'";
      for (const char c : value.AsString())
        quoted += c == '\'' ? std::string("''") : std::string(1, c);
      return quoted + "'";
    }
    return Unfolded(Trimmed(json::WriteYaml(value, json::KeyOrder::kAsIs)));
  }

  // A long scalar in one line: the writer folds it, and a fold is a space.
  static std::string Unfolded(const std::string& text) {
    if (text.starts_with('|') || text.starts_with('>') || text.find("\n\n") != text.npos) {
      return text;
    }
    std::string line;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\n') {
        line += text[i];
        continue;
      }
      line += ' ';
      while (i + 1 < text.size() && text[i + 1] == ' ') ++i;
    }
    return line;
  }

  static std::string Trimmed(std::string text) {
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

  // `value` in block style; lines after the first are indented by `indent`.
  static std::string Block(const Value& value, std::size_t indent) {
    std::string block;
    for (const char c : Trimmed(json::WriteYaml(value, json::KeyOrder::kAsIs))) {
      block += c;
      if (c == '\n') block.append(indent, ' ');
    }
    return block;
  }

  [[nodiscard]] std::string Replace(std::size_t begin, std::size_t end,
                                    std::string_view with) const {
    return std::string(text_.substr(0, begin)) + std::string(with) + std::string(text_.substr(end));
  }
  [[nodiscard]] std::string Insert(std::size_t at, std::string_view what) const {
    return Replace(at, at, what);
  }

  std::string_view text_;
  const YamlDocument& document_;
  std::vector<std::size_t> line_starts_;
  std::vector<std::string_view> parents_;  // of document_.places
};

// Whether `text` has `wanted` as its document that begins at `begin`.
bool Says(std::string_view text, Mark begin, const Value& wanted) {
  const Result<std::vector<YamlDocument>> documents = json::ReadYaml(text);
  return documents && std::ranges::any_of(*documents, [&](const YamlDocument& document) {
           return document.begin.line == begin.line && document.value == wanted;
         });
}

// The change as seen from the node `base`: its path without the base's.
Change Relative(const Change& change, std::string_view base) {
  Change relative = change;
  relative.path = change.path.substr(std::min(base.size(), change.path.size()));
  if (relative.path.starts_with('.')) relative.path.erase(0, 1);
  return relative;
}

}  // namespace

Result<Value> ApplyToTree(Value root, const Change& change) {
  std::vector<Step> steps = ParsePath(change.path);
  const bool to_parent =
      change.type == Change::Type::kReplaceMember || change.type == Change::Type::kRemoveMember;
  std::size_t index = 0;
  if (change.type == Change::Type::kRemoveItem) {
    if (steps.empty() || !std::holds_alternative<std::size_t>(steps.back())) {
      return NoSuchPath(change.path);
    }
    index = std::get<std::size_t>(steps.back());
    steps.pop_back();
  }
  std::string key;
  Value* at = to_parent ? nullptr : FindForChange(root, steps);
  // The key may have dots: its parent is the nearest that has it.
  while (to_parent && at == nullptr && !steps.empty() &&
         std::holds_alternative<std::string>(steps.back())) {
    key = key.empty() ? std::get<std::string>(steps.back())
                      : std::get<std::string>(steps.back()) + "." + key;
    steps.pop_back();
    at = FindForChange(root, steps);
    if (at != nullptr && !at->Has(key)) at = nullptr;
  }
  if (at == nullptr) return NoSuchPath(change.path);
  switch (change.type) {
    case Change::Type::kSetValue:
      *at = change.value;
      break;
    case Change::Type::kInsertMember:
      *at = WithInserted(*at, change);
      break;
    case Change::Type::kAppendItem:
      at->Append(change.value);
      break;
    case Change::Type::kReplaceMember:
      *at = WithReplaced(*at, key, change);
      break;
    case Change::Type::kRemoveMember:
      at->Erase(key);
      break;
    case Change::Type::kRemoveItem:
      *at = WithoutItem(*at, index);
      break;
    case Change::Type::kRemoveDocument:
      return BadInput("a document is no part of itself");
  }
  return root;
}

Result<std::string> Apply(std::string_view text, const YamlDocument& document,
                          const Change& change) {
  TextEditor editor(text, document);
  if (change.type == Change::Type::kRemoveDocument) return editor.RemoveDocument();
  if (const Place* flow = editor.FlowAround(change.path)) {
    Value root = document.value;
    const Value* node = FindForChange(root, ParsePath(flow->path));
    if (node == nullptr) return NoSuchPath(flow->path);
    const bool is_the_node =
        flow->path == change.path &&
        (change.type == Change::Type::kReplaceMember || change.type == Change::Type::kRemoveMember);
    if (!is_the_node) {
      DRA_ASSIGN(const Value wanted, ApplyToTree(document.value, change));
      if (std::optional<std::string> edited = editor.ChangeInFlow(*flow, change);
          edited && Says(*edited, document.begin, wanted)) {
        return *std::move(edited);
      }
      DRA_ASSIGN(const Value changed, ApplyToTree(*node, Relative(change, flow->path)));
      return editor.ReplaceFlow(*flow, changed);
    }
  }
  switch (change.type) {
    case Change::Type::kSetValue:
      return editor.SetValue(change.path, change.value);
    case Change::Type::kReplaceMember:
      return editor.ReplaceMember(change.path, change);
    case Change::Type::kInsertMember:
      return editor.InsertMember(change.path, change);
    case Change::Type::kAppendItem:
      return editor.AppendItem(change.path, change.value);
    case Change::Type::kRemoveMember:
      return editor.RemoveMember(change.path);
    case Change::Type::kRemoveItem:
      return editor.RemoveItem(change.path);
    case Change::Type::kRemoveDocument:
      break;  // above
  }
  return NoSuchPath(change.path);
}

}  // namespace drachma::lint
