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

  // `old`, null for a create, is what `value` replaces: faults of values that have not changed are
  // none (apiextensions' RatchetingSchemaValidator). Items of lists have a past when the list is a
  // map.
  [[nodiscard]] validation::ErrorList Validate(const json::Value& value, const json::Value& schema,
                                               const json::Value* old = nullptr);

 private:
  using Value = json::Value;

  // `old` is null where there is no past.
  void Check(const Value& value, const Value& schema, const std::string& path, int depth,
             const Value* old = nullptr);
  void CheckParts(const Value& value, const Value& schema, const std::string& path, int depth,
                  const Value* old);
  void CheckType(const Value& value, const Value& schema, const std::string& path);
  void CheckNumber(const Value& value, const Value& schema, const std::string& path);
  void CheckMultiple(const Value& value, const Value& factor, const std::string& path);
  // The range of the type that numbers are checked as.
  void CheckRange(const Value& value, const Value& schema, const std::string& path);
  void CheckString(const Value& value, const Value& schema, const std::string& path);
  void CheckList(const Value& value, const Value& schema, const std::string& path, int depth,
                 const Value* old);
  void CheckListType(const Value& value, const Value& schema, const std::string& path);
  void CheckObject(const Value& value, const Value& schema, const std::string& path, int depth,
                   const Value* old);
  void CheckCombinations(const Value& value, const Value& schema, const std::string& path,
                         int depth);
  // Whether `value` fits `schema`, without keeping the errors.
  bool Fits(const Value& value, const Value& schema, const std::string& path, int depth);
  void Bad(const std::string& path, const Value& value, const std::string& detail);

  const PatternMap& patterns_;
  validation::ErrorList errors_;
};

// Whether `value` is what `old` was (apiserver's CorrelatedObject.CachedDeepEqual). Objects with
// members that their schema does not know never are, nor are lists that are maps in another order
// of their keys.
[[nodiscard]] bool IsUnchanged(const json::Value& value, const json::Value& old,
                               const json::Value& schema);

// What stands in the list `old` for `item` by the keys of the list's schema; null where the list is
// no map or has nothing of these keys.
[[nodiscard]] const json::Value* PastOfItem(const json::Value& item, const json::Value& old,
                                            const json::Value& schema);

}  // namespace drachma::apiserver
