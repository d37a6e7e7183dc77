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

}  // namespace drachma::api
