#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/yaml.h"
#include "lint/finding.h"

namespace drachma::lint {

// Lists in lists are looked into as deep as this.
inline constexpr int kListDepthMax = 8;

// An object of a document with its path in it: the document itself (""), or an item of a list
// ("items[0]").
struct ListedObject {
  std::string path;
  json::YamlDocument document;  // its value and duplicate keys, as if it stood alone
};

// The objects of a document: the items of a List or of a typed list (PodList), else the document.
// Items of typed lists need not say their apiVersion and kind.
[[nodiscard]] std::vector<ListedObject> ObjectsOf(const json::YamlDocument& document);

// Makes a finding about an object one about the item at `path`: what would remove the document
// removes the item.
void MoveTo(std::string_view path, Finding& finding);

}  // namespace drachma::lint
