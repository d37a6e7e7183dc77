#include "lint/apply.h"

#include <optional>
#include <utility>
#include <vector>

#include "json/yaml.h"
#include "lint/editor.h"
#include "lint/origin.h"

namespace drachma::lint {
namespace {

using json::YamlDocument;

// `change` at the place where its text stands: what came by an alias or a merge is changed under
// its anchor. (An item or member that is added needs no place of its own but its parent's.)
Change AtItsOrigin(const YamlDocument& document, Change change) {
  if (std::optional<std::string> origin = OriginOf(document, change.path)) {
    change.path = *std::move(origin);
  }
  return change;
}

}  // namespace

Result<std::string> ApplyAll(std::string text, std::size_t number,
                             std::span<const Change> changes) {
  for (const Change& change : changes) {
    DRA_ASSIGN(const std::vector<YamlDocument> documents, json::ReadYaml(text));
    if (number >= documents.size()) return BadInput("the document is gone");
    const YamlDocument& document = documents[number];
    DRA_ASSIGN(text, Apply(text, document, AtItsOrigin(document, change)));
    if (change.type != Change::Type::kRemoveDocument) continue;
    DRA_ASSIGN(const std::vector<YamlDocument> rest, json::ReadYaml(text));
    if (rest.size() + 1 != documents.size()) return BadInput("no document of its own");
  }
  return text;
}

}  // namespace drachma::lint
