#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>

#include "base/check.h"
#include "json/utf8.h"
#include "json/yaml.h"
#include "json/yaml_scalar.h"

namespace drachma::json {

namespace {

class Emitter {
 public:
  Emitter(std::string& out, KeyOrder order) : order_(order) {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_output(
        &emitter_,
        [](void* target, unsigned char* bytes, std::size_t size) {
          static_cast<std::string*>(target)->append(reinterpret_cast<const char*>(bytes), size);
          return 1;
        },
        &out);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter_); }

  void Document(const Value& value) {
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    Emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    Emit(event);
    Node(value);
    yaml_document_end_event_initialize(&event, 1);
    Emit(event);
    yaml_stream_end_event_initialize(&event);
    Emit(event);
  }

 private:
  // Writing to a string cannot fail, and the events come in an order that is right by construction.
  void Emit(yaml_event_t& event) { DRA_CHECK(yaml_emitter_emit(&emitter_, &event) != 0); }

  void Node(const Value& value) {
    if (value.IsArray()) {
      Array(value);
    } else if (value.IsObject()) {
      Object(value);
    } else {
      Scalar(value);
    }
  }

  void Array(const Value& value) {
    yaml_event_t event;
    yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_SEQUENCE_STYLE);
    Emit(event);
    for (const Value& item : value.Items()) Node(item);
    yaml_sequence_end_event_initialize(&event);
    Emit(event);
  }

  void Object(const Value& value) {
    std::vector<const Member*> members;
    members.reserve(value.size());
    for (const Member& member : value.Members()) members.push_back(&member);
    if (order_ == KeyOrder::kSorted) {
      std::ranges::stable_sort(members, [](const Member* a, const Member* b) {
        return YamlKeyLess(a->key(), b->key());
      });
    }
    yaml_event_t event;
    yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
    Emit(event);
    for (const Member* member : members) {
      Text(member->key());
      Node(member->value);
    }
    yaml_mapping_end_event_initialize(&event);
    Emit(event);
  }

  void Text(std::string_view text) {
    std::string valid;
    if (!IsValidUtf8(text)) {
      while (!text.empty()) {
        const Rune rune = DecodeRune(text);
        AppendRune(rune.code, valid);
        text.remove_prefix(rune.size);
      }
      text = valid;
    }
    auto style = YAML_PLAIN_SCALAR_STYLE;
    if (text.find('\n') != std::string_view::npos) {
      style = YAML_LITERAL_SCALAR_STYLE;
    } else if (NeedsQuotes(text)) {
      style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    }
    Raw(text, style);
  }

  void Scalar(const Value& value) {
    if (value.IsString()) {
      Text(value.AsString());
    } else if (value.kind() == Kind::kDouble) {
      Raw(fmt::format("{}", value.AsDouble()), YAML_PLAIN_SCALAR_STYLE);
    } else {
      Raw(Write(value), YAML_PLAIN_SCALAR_STYLE);
    }
  }

  void Raw(std::string_view text, yaml_scalar_style_t style) {
    yaml_event_t event;
    yaml_scalar_event_initialize(&event, nullptr, nullptr,
                                 reinterpret_cast<const yaml_char_t*>(text.data()),
                                 static_cast<int>(text.size()), 1, 1, style);
    Emit(event);
  }

  const KeyOrder order_;
  yaml_emitter_t emitter_{};
};

}  // namespace

std::string WriteYaml(const Value& value, KeyOrder order) {
  std::string out;
  Emitter(out, order).Document(value);
  return out;
}

}  // namespace drachma::json
