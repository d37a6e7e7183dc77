// OpenAPI v2 in the Protobuf form of github.com/google/gnostic-models (openapiv2): as much of it as
// our documents use.
#include "api/openapi.h"
#include "json/json.h"

namespace drachma::api {

namespace {

using json::Member;
using json::Value;

// Writes the fields of one message.
class Message {
 public:
  void Bytes(std::uint32_t number, std::string_view bytes) {
    Varint(number << 3 | 2);
    Varint(bytes.size());
    out_ += bytes;
  }
  // Proto3: empty strings and false are not written.
  void Text(std::uint32_t number, const Value& value) {
    if (!value.AsString().empty()) Bytes(number, value.AsString());
  }
  void Bool(std::uint32_t number, const Value& value) {
    if (!value.AsBool()) return;
    Varint(number << 3);
    Varint(1);
  }
  void Nested(std::uint32_t number, const Message& message) { Bytes(number, message.out_); }
  [[nodiscard]] std::string Take() { return std::move(out_); }

 private:
  void Varint(std::uint64_t value) {
    while (value >= 0x80) {
      out_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

// Any {2 yaml}: JSON is YAML.
Message Any(const Value& value) {
  Message message;
  message.Bytes(2, json::Write(value));
  return message;
}

// The many messages of {1 name, 2 value}.
Message Named(std::string_view name, const Message& value) {
  Message message;
  message.Bytes(1, name);
  message.Nested(2, value);
  return message;
}

void Extensions(const Value& object, std::uint32_t number, Message& message) {
  for (const Member& member : object.Members()) {
    if (member.key().starts_with("x-")) {
      message.Nested(number, Named(member.key(), Any(member.value)));
    }
  }
}

Message Schema(const Value& schema) {
  Message message;
  message.Text(1, schema["$ref"]);
  message.Text(2, schema["format"]);
  message.Text(4, schema["description"]);
  if (schema.Has("default")) message.Nested(5, Any(schema["default"]));
  for (const Value& name : schema["required"].Items()) message.Text(19, name);
  for (const Value& value : schema["enum"].Items()) message.Nested(20, Any(value));
  if (schema.Has("additionalProperties")) {
    Message item;
    item.Nested(1, Schema(schema["additionalProperties"]));
    message.Nested(21, item);
  }
  if (schema.Has("type")) {
    Message type;
    type.Text(1, schema["type"]);
    message.Nested(22, type);
  }
  if (schema.Has("items")) {
    Message items;
    items.Nested(1, Schema(schema["items"]));
    message.Nested(23, items);
  }
  if (schema.Has("properties")) {
    Message properties;
    for (const Member& member : schema["properties"].Members()) {
      properties.Nested(1, Named(member.key(), Schema(member.value)));
    }
    message.Nested(25, properties);
  }
  Extensions(schema, 31, message);
  return message;
}

// ParametersItem {1 parameter}; Parameter {1 body, 2 other}; NonBodyParameter {3 query, 4 path}.
Message Parameter(const Value& parameter) {
  Message inner;
  Message either;
  const std::string_view in = parameter["in"].AsString();
  if (in == "body") {
    inner.Text(2, parameter["name"]);
    inner.Text(3, parameter["in"]);
    inner.Bool(4, parameter["required"]);
    inner.Nested(5, Schema(parameter["schema"]));
    either.Nested(1, inner);
  } else {
    inner.Bool(1, parameter["required"]);
    inner.Text(2, parameter["in"]);
    inner.Text(3, parameter["description"]);
    inner.Text(4, parameter["name"]);
    inner.Text(in == "query" ? 6 : 5, parameter["type"]);
    Message other;
    other.Nested(in == "query" ? 3 : 4, inner);
    either.Nested(2, other);
  }
  Message item;
  item.Nested(1, either);
  return item;
}

// Responses {1 NamedResponseValue}; ResponseValue {1 response}; SchemaItem {1 schema}.
Message Responses(const Value& responses) {
  Message message;
  for (const Member& member : responses.Members()) {
    Message response;
    response.Text(1, member.value["description"]);
    if (member.value.Has("schema")) {
      Message item;
      item.Nested(1, Schema(member.value["schema"]));
      response.Nested(2, item);
    }
    Message value;
    value.Nested(1, response);
    message.Nested(1, Named(member.key(), value));
  }
  return message;
}

Message Operation(const Value& operation) {
  Message message;
  for (const Value& type : operation["consumes"].Items()) message.Text(7, type);
  for (const Value& parameter : operation["parameters"].Items()) {
    message.Nested(8, Parameter(parameter));
  }
  message.Nested(9, Responses(operation["responses"]));
  Extensions(operation, 13, message);
  return message;
}

Message PathItem(const Value& path) {
  static constexpr std::pair<std::string_view, std::uint32_t> kOperations[] = {
      {"get", 2}, {"put", 3}, {"post", 4}, {"delete", 5}, {"patch", 8}};
  Message message;
  for (const auto& [name, number] : kOperations) {
    if (path.Has(name)) message.Nested(number, Operation(path[name]));
  }
  for (const Value& parameter : path["parameters"].Items()) {
    message.Nested(9, Parameter(parameter));
  }
  return message;
}

}  // namespace

std::string GnosticBytes(const Value& swagger) {
  Message document;
  document.Text(1, swagger["swagger"]);
  Message info;
  info.Text(1, swagger["info"]["title"]);
  info.Text(2, swagger["info"]["version"]);
  document.Nested(2, info);
  Message paths;
  for (const Member& path : swagger["paths"].Members()) {
    paths.Nested(2, Named(path.key(), PathItem(path.value)));
  }
  document.Nested(8, paths);
  Message definitions;
  for (const Member& definition : swagger["definitions"].Members()) {
    definitions.Nested(1, Named(definition.key(), Schema(definition.value)));
  }
  document.Nested(9, definitions);
  return document.Take();
}

}  // namespace drachma::api
