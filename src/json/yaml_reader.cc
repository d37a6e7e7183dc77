#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace drachma::json {

namespace {

// yaml_event_t with an owner.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event_); }
  yaml_event_t* get() { return &event_; }
  const yaml_event_t* operator->() const { return &event_; }
  Mark begin() const { return At(event_.start_mark); }
  Mark end() const { return At(event_.end_mark); }

 private:
  static Mark At(const yaml_mark_t& mark) {
    return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1};
  }
  yaml_event_t event_{};
};

std::string_view Text(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// A node as built: its value, where it ends, and how many nodes it stands for.
struct Built {
  Value value;
  Mark end;
  std::size_t nodes = 1;
};

// The key of a mapping as sigs.k8s.io/yaml turns it into a JSON string.
Result<std::string> KeyText(const Value& key) {
  switch (key.kind()) {
    case Kind::kString:
      return std::string(key.AsString());
    case Kind::kBool:
      return std::string(key.AsBool() ? "true" : "false");
    case Kind::kInt:
      return std::to_string(key.AsInt());
    case Kind::kDouble:
      return fmt::format("{}", static_cast<float>(key.AsDouble()));
    case Kind::kNull:
      return BadInput("unsupported map key of type: %!s(<nil>), key: <nil>");
    default:
      return BadInput("yaml: invalid map key");
  }
}

enum class Places : std::uint8_t { kNote, kSkip };

class StreamReader {
 public:
  explicit StreamReader(std::string_view text, Places places) : places_(places) {
    yaml_parser_initialize(&parser_);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;
  ~StreamReader() { yaml_parser_delete(&parser_); }

  // The next document, or nothing at the end of the stream. Documents without content are null.
  Result<std::optional<YamlDocument>> Next() {
    for (;;) {
      Event event;
      DRA_TRY(Pull(event));
      if (event->type == YAML_STREAM_END_EVENT) return std::nullopt;
      if (event->type == YAML_DOCUMENT_START_EVENT) break;
    }
    document_ = {};
    anchors_.clear();
    anchor_paths_.clear();
    alias_nodes_ = 0;
    Event root;
    DRA_TRY(Pull(root));
    document_.begin = root.begin();
    DRA_ASSIGN(Built built, Node(root, "", {}, 0));
    document_.value = std::move(built.value);
    return std::move(document_);
  }

 private:
  Status Pull(Event& event) {
    if (yaml_parser_parse(&parser_, event.get()) != 0) return {};
    // The line that yaml.v2 names: of the problem when it is known.
    std::size_t line = parser_.problem_mark.line;
    if (line == 0) {
      line = parser_.context_mark.line;
    } else if (parser_.error == YAML_SCANNER_ERROR) {
      ++line;
    }
    const std::string where = line == 0 ? "" : fmt::format("line {}: ", line);
    return BadInput(fmt::format(
        "yaml: {}{}", where,
        parser_.problem == nullptr ? "unknown problem parsing YAML content" : parser_.problem));
  }

  // `path` is the node's JSON path, `key` the mark of its key.
  Result<Built> Node(const Event& event, const std::string& path, Mark key, std::size_t depth) {
    if (depth > kYamlDepthMax) return BadInput("yaml: exceeded max depth");
    std::size_t place = 0;
    if (places_ == Places::kNote) {
      place = document_.places.size();
      document_.places.push_back({path, key, event.begin(), event.end()});
    }
    Result<Built> built = Content(event, path, depth);
    if (!built) return built;
    if (places_ == Places::kNote) document_.places[place].value_end = built->end;
    return built;
  }

  Result<Built> Content(const Event& event, const std::string& path, std::size_t depth) {
    switch (event->type) {
      case YAML_ALIAS_EVENT:
        if (places_ == Places::kNote) {
          document_.aliases.push_back(
              {path, anchor_paths_[std::string(Text(event->data.alias.anchor))]});
        }
        return Alias(event);
      case YAML_SCALAR_EVENT: {
        NoteAnchor(Text(event->data.scalar.anchor), path);
        DRA_ASSIGN(Built built, Scalar(event));
        return Anchored(Text(event->data.scalar.anchor), std::move(built));
      }
      case YAML_SEQUENCE_START_EVENT: {
        NoteAnchor(Text(event->data.sequence_start.anchor), path);
        Open(Text(event->data.sequence_start.anchor));
        DRA_ASSIGN(Built built, Sequence(path, depth));
        return Anchored(Text(event->data.sequence_start.anchor), std::move(built));
      }
      case YAML_MAPPING_START_EVENT: {
        NoteAnchor(Text(event->data.mapping_start.anchor), path);
        Open(Text(event->data.mapping_start.anchor));
        DRA_ASSIGN(Built built, Mapping(path, depth));
        return Anchored(Text(event->data.mapping_start.anchor), std::move(built));
      }
      default:
        return BadInput("yaml: unexpected event");
    }
  }

  void NoteAnchor(std::string_view anchor, const std::string& path) {
    if (places_ == Places::kNote && !anchor.empty()) anchor_paths_[std::string(anchor)] = path;
  }

  // An anchor is known from where it stands, but cannot be used before its node is complete.
  void Open(std::string_view anchor) {
    if (!anchor.empty()) anchors_[std::string(anchor)] = std::nullopt;
  }
  Built Anchored(std::string_view anchor, Built built) {
    if (!anchor.empty()) anchors_[std::string(anchor)] = built;
    return built;
  }

  Result<Built> Alias(const Event& event) {
    const std::string name(Text(event->data.alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return BadInput(fmt::format("yaml: unknown anchor '{}' referenced", name));
    }
    if (!found->second) {
      return BadInput(fmt::format("yaml: anchor '{}' value contains itself", name));
    }
    Built built = *found->second;
    alias_nodes_ += built.nodes;
    if (alias_nodes_ > kYamlAliasExpansionMax) {
      return BadInput("yaml: document contains excessive aliasing");
    }
    built.end = event.end();
    return built;
  }

  static Result<Built> Scalar(const Event& event) {
    const auto& scalar = event->data.scalar;
    const std::string_view text(reinterpret_cast<const char*>(scalar.value), scalar.length);
    std::string_view tag = Text(scalar.tag);
    const bool plain = scalar.style == YAML_PLAIN_SCALAR_STYLE && scalar.plain_implicit != 0;
    if (tag.empty() && !plain) tag = "tag:yaml.org,2002:str";
    if (tag == "!") tag = "tag:yaml.org,2002:str";
    DRA_ASSIGN(Value value, ResolveScalar(tag, text));
    return Built{std::move(value), event.end(), 1};
  }

  Result<Built> Sequence(const std::string& path, std::size_t depth) {
    std::vector<Value> items;
    std::size_t nodes = 1;
    for (;;) {
      Event event;
      DRA_TRY(Pull(event));
      if (event->type == YAML_SEQUENCE_END_EVENT) {
        return Built{Value::Array(std::move(items)), event.end(), nodes};
      }
      const std::string item_path =
          places_ == Places::kNote ? fmt::format("{}[{}]", path, items.size()) : std::string();
      DRA_ASSIGN(Built item, Node(event, item_path, {}, depth + 1));
      nodes += item.nodes;
      items.push_back(std::move(item.value));
    }
  }

  Result<Built> Mapping(const std::string& path, std::size_t depth) {
    Built mapping{Value::Object(), {}, 1};
    std::map<std::string, bool, std::less<>> own_keys;  // not those that came by a merge
    for (;;) {
      Event key_event;
      DRA_TRY(Pull(key_event));
      if (key_event->type == YAML_MAPPING_END_EVENT) {
        mapping.end = key_event.end();
        return mapping;
      }
      const bool merge = IsMerge(key_event);
      DRA_ASSIGN(const std::string key, Key(key_event));
      std::string child_path = path;
      if (!child_path.empty()) child_path += '.';
      child_path += key;
      Event value_event;
      DRA_TRY(Pull(value_event));
      DRA_ASSIGN(Built value, Node(value_event, child_path, key_event.begin(), depth + 1));
      mapping.nodes += value.nodes;
      if (merge) {
        DRA_TRY(Merge(mapping.value, value.value));
        continue;
      }
      if (!own_keys.emplace(key, true).second) {
        document_.duplicates.push_back({child_path, mapping.value.size(),
                                        key_event->start_mark.index,
                                        static_cast<int>(key_event->start_mark.line) + 1, key});
      }
      mapping.value.Set(key, std::move(value.value));
    }
  }

  static bool IsMerge(const Event& event) {
    if (event->type != YAML_SCALAR_EVENT || Text(event->data.scalar.value) != "<<") return false;
    const std::string_view tag = Text(event->data.scalar.tag);
    return (tag.empty() && event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) ||
           tag == "tag:yaml.org,2002:merge";
  }

  Result<std::string> Key(const Event& event) {
    if (event->type == YAML_ALIAS_EVENT) {
      DRA_ASSIGN(const Built alias, Alias(event));
      return KeyText(alias.value);
    }
    if (event->type != YAML_SCALAR_EVENT) {
      return BadInput(fmt::format("yaml: line {}: invalid map key", event.begin().line));
    }
    DRA_ASSIGN(Built key, Scalar(event));
    key = Anchored(Text(event->data.scalar.anchor), std::move(key));
    return KeyText(key.value);
  }

  // YAML 1.1's "<<": the members of a mapping, or of several where the earlier ones win.
  static Status Merge(Value& target, const Value& source) {
    const auto take = [&target](const Value& mapping) {
      for (const Member& member : mapping.Members()) {
        target.SetByKey(member.key_value, member.value);
      }
    };
    if (source.IsObject()) {
      take(source);
      return {};
    }
    const auto items = source.Items();
    for (std::size_t i = items.size(); i > 0; --i) {
      if (!items[i - 1].IsObject()) break;
      take(items[i - 1]);
      if (i == 1) return {};
    }
    return BadInput("yaml: map merge requires map or sequence of maps as the value");
  }

  const Places places_;
  yaml_parser_t parser_{};
  YamlDocument document_;
  std::map<std::string, std::optional<Built>, std::less<>> anchors_;
  std::map<std::string, std::string> anchor_paths_;
  std::size_t alias_nodes_ = 0;
};

// Members by key, as they come out of the Go maps that sigs.k8s.io/yaml goes through: errors of
// decoding are told in this order.
Value Sorted(const Value& value) {
  if (value.IsArray()) {
    std::vector<Value> items;
    items.reserve(value.size());
    for (const Value& item : value.Items()) items.push_back(Sorted(item));
    return Value::Array(std::move(items));
  }
  if (!value.IsObject()) return value;
  std::vector<const Member*> members;
  members.reserve(value.size());
  for (const Member& member : value.Members()) members.push_back(&member);
  std::ranges::sort(members, {}, [](const Member* member) { return member->key(); });
  Value sorted = Value::Object();
  sorted.Reserve(members.size());
  for (const Member* member : members) sorted.SetByKey(member->key_value, Sorted(member->value));
  return sorted;
}

}  // namespace

const YamlDocument::Place& YamlDocument::PlaceOf(std::string_view path) const {
  for (;;) {
    for (const Place& place : places) {
      if (place.path == path) return place;
    }
    if (path.empty()) break;
    const auto cut = path.find_last_of(".[");
    path = cut == std::string_view::npos ? std::string_view() : path.substr(0, cut);
  }
  static const Place kNowhere;
  return kNowhere;
}

Result<std::vector<YamlDocument>> ReadYaml(std::string_view text) {
  StreamReader reader(text, Places::kNote);
  std::vector<YamlDocument> documents;
  for (;;) {
    DRA_ASSIGN(std::optional<YamlDocument> document, reader.Next());
    if (!document) return documents;
    if (!document->value.IsNull()) documents.push_back(std::move(*document));
  }
}

Result<Value> ReadYamlValue(std::string_view text, const ReadOptions& options) {
  StreamReader reader(text, Places::kSkip);
  DRA_ASSIGN(std::optional<YamlDocument> document, reader.Next());
  if (!document) return Value();
  if (options.duplicates != nullptr) *options.duplicates = std::move(document->duplicates);
  return Sorted(document->value);
}

}  // namespace drachma::json
