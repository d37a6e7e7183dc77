#include "api/json_kind.h"

namespace drachma::api {

std::string_view JsonKind(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return "null";
    case json::Kind::kBool:
      return "bool";
    case json::Kind::kInt:
    case json::Kind::kDouble:
      return "number";
    case json::Kind::kString:
      return "string";
    case json::Kind::kArray:
      return "array";
    case json::Kind::kObject:
      return "object";
  }
  return "";
}

std::string_view GoType(const json::Value& value) {
  switch (value.kind()) {
    case json::Kind::kNull:
      return "<nil>";
    case json::Kind::kBool:
      return "bool";
    case json::Kind::kInt:
      return "int64";
    case json::Kind::kDouble:
      return "float64";
    case json::Kind::kString:
      return "string";
    case json::Kind::kArray:
      return "[]interface {}";
    case json::Kind::kObject:
      return "map[string]interface {}";
  }
  return "";
}

}  // namespace drachma::api
