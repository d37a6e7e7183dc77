#pragma once

#include <re2/re2.h>

#include <map>
#include <memory>
#include <string>

#include "json/value.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

using PatternMap = std::map<std::string, std::unique_ptr<RE2>, std::less<>>;

// Checks a value against an OpenAPI v3 schema as kube-openapi's validator does. For one validation.
class SchemaValidator {
 public:
  // `patterns` holds every pattern of the schema.
  explicit SchemaValidator(const PatternMap& patterns) : patterns_(patterns) {}

  [[nodiscard]] validation::ErrorList Validate(const json::Value& value, const json::Value& schema);

 private:
  using Value = json::Value;

  void Check(const Value& value, const Value& schema, const std::string& path, int depth);
  bool CheckType(const Value& value, const Value& schema, const std::string& path);
  void CheckNumber(const Value& value, const Value& schema, const std::string& path);
  void CheckString(const Value& value, const Value& schema, const std::string& path);
  void CheckList(const Value& value, const Value& schema, const std::string& path, int depth);
  void CheckListType(const Value& value, const Value& schema, const std::string& path);
  void CheckObject(const Value& value, const Value& schema, const std::string& path, int depth);
  void CheckCombinations(const Value& value, const Value& schema, const std::string& path,
                         int depth);
  // Whether `value` fits `schema`, without keeping the errors.
  bool Fits(const Value& value, const Value& schema, const std::string& path, int depth);
  void Bad(const std::string& path, const Value& value, const std::string& detail);

  const PatternMap& patterns_;
  validation::ErrorList errors_;
};

}  // namespace drachma::apiserver
