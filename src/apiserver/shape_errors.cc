// What of a value does not fit its shape.
#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "apiserver/go_print.h"
#include "apiserver/merge_internal.h"

namespace drachma::apiserver {

using Form = Shape::Form;

namespace {

class ShapeChecker {
 public:
  ShapeChecker(Duplicates duplicates, std::vector<std::string>& errors)
      : duplicates_(duplicates), errors_(errors) {}

  void Run(const json::Value& value, const Shape& shape, const std::string& path) {
    if (value.IsNull()) return;
    if (IsMapForm(shape.form)) {
      Members(value, shape, path);
    } else if (IsListForm(shape.form)) {
      Items(value, shape, path);
    } else if (shape.form == Form::kList) {
      PlainItems(value, shape, path);
    } else if (shape.form != Form::kDeduced) {
      Scalar(value, shape.scalar, path);
    }
  }

 private:
  void Fail(const std::string& path, std::string message) {
    errors_.push_back(path.empty() ? std::move(message) : fmt::format("{}: {}", path, message));
  }

  void Members(const json::Value& value, const Shape& shape, const std::string& path) {
    if (!value.IsObject()) {
      Fail(path, fmt::format("expected map, got &{{{}}}", GoText(value)));
      return;
    }
    for (const json::Member& member : value.Members()) {
      const std::string child = fmt::format("{}.{}", path, member.key());
      const std::optional<Shape> field = shape.Field(member.key());
      if (!field) {
        Fail(child, "field not declared in schema");
        return;
      }
      Run(member.value, *field, child);
    }
  }

  void Items(const json::Value& value, const Shape& shape, const std::string& path) {
    if (!value.IsArray()) {
      Fail(path, fmt::format("expected list, got &{{{}}}", GoText(value)));
      return;
    }
    std::unordered_set<std::string> seen;
    const Shape item_shape = shape.Item();
    for (std::size_t i = 0; i < value.size(); ++i) {
      const json::Value& item = value.Items()[i];
      const Result<std::string> element = ItemElement(shape, item);
      if (!element) {
        Fail(path, fmt::format("element {}: {}", i, element.error().message));
        return;
      }
      if (!seen.insert(*element).second && duplicates_ == Duplicates::kRefused) {
        Fail(path, fmt::format("duplicate entries for key {}", ElementText(*element)));
      }
      Run(item, item_shape, path + ElementText(*element));
    }
  }

  void PlainItems(const json::Value& value, const Shape& shape, const std::string& path) {
    if (!value.IsArray()) {
      Fail(path, fmt::format("expected list, got &{{{}}}", GoText(value)));
      return;
    }
    const Shape item_shape = shape.Item();
    for (std::size_t i = 0; i < value.size(); ++i) {
      Run(value.Items()[i], item_shape, fmt::format("{}[{}]", path, i));
    }
  }

  void Scalar(const json::Value& value, Shape::Scalar scalar, const std::string& path) {
    switch (scalar) {
      case Shape::Scalar::kAny:
        return;
      case Shape::Scalar::kString:
        if (!value.IsString()) {
          Fail(path, fmt::format("expected string, got &value.valueUnstructured{{Value:{}}}",
                                 GoSyntax(value)));
        }
        return;
      case Shape::Scalar::kNumber:
        if (!value.IsNumber()) {
          Fail(path, fmt::format("expected numeric (int or float), got {}",
                                 value.IsString()  ? "string"
                                 : value.IsBool()  ? "bool"
                                 : value.IsArray() ? "[]interface {}"
                                                   : "map[string]interface {}"));
        }
        return;
      case Shape::Scalar::kBool:
        if (!value.IsBool()) {
          Fail(path, fmt::format("expected boolean, got &{{{}}}", GoText(value)));
        }
        return;
    }
  }

  Duplicates duplicates_;
  std::vector<std::string>& errors_;
};

}  // namespace

std::vector<std::string> ShapeErrors(const json::Value& value, const Shape& shape,
                                     Duplicates duplicates) {
  std::vector<std::string> errors;
  ShapeChecker(duplicates, errors).Run(value, shape, "");
  return errors;
}

}  // namespace drachma::apiserver
