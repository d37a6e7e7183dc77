#include "apiserver/negotiate.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

namespace drachma::apiserver {
namespace {

// One clause of an Accept header.
struct Clause {
  std::string type;
  std::vector<std::pair<std::string, std::string>> parameters;
  double quality = 1;

  [[nodiscard]] std::string_view Get(std::string_view name) const {
    for (const auto& [key, value] : parameters) {
      if (key == name) return value;
    }
    return {};
  }
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    parts.push_back(Trimmed(text.substr(0, end)));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return parts;
}

std::vector<Clause> Parse(std::string_view accept) {
  std::vector<Clause> clauses;
  for (const std::string_view part : Split(accept, ',')) {
    Clause clause;
    for (const std::string_view piece : Split(part, ';')) {
      if (clause.type.empty()) {
        clause.type = Lower(piece);
        continue;
      }
      const std::size_t equals = piece.find('=');
      std::string key = Lower(Trimmed(piece.substr(0, equals)));
      std::string value(equals == std::string_view::npos ? std::string_view()
                                                         : Trimmed(piece.substr(equals + 1)));
      if (key == "q") {
        clause.quality = std::strtod(value.c_str(), nullptr);
      } else {
        clause.parameters.emplace_back(std::move(key), std::move(value));
      }
    }
    if (!clause.type.empty()) clauses.push_back(std::move(clause));
  }
  std::ranges::stable_sort(clauses, std::greater<>(), &Clause::quality);
  return clauses;
}

std::optional<Accepted> Serve(const Clause& clause, Transforms transforms) {
  Accepted accepted;
  if (clause.type == "application/yaml") {
    accepted.media = Accepted::Media::kYaml;
  } else if (clause.type != "application/json" && clause.type != "*/*") {
    return std::nullopt;
  }
  if (clause.Get("pretty") == "1") accepted.pretty = Accepted::Pretty::kYes;
  const std::string_view as = clause.Get("as");
  if (as.empty()) return accepted;
  const std::string_view version = clause.Get("v");
  if (transforms == Transforms::kNo || clause.Get("g") != "meta.k8s.io" ||
      (version != "v1" && version != "v1beta1")) {
    return std::nullopt;
  }
  accepted.meta_version = version;
  if (as == "Table") {
    accepted.as = Accepted::As::kTable;
  } else if (as == "PartialObjectMetadata" || as == "PartialObjectMetadataList") {
    accepted.as = Accepted::As::kPartialMetadata;
    if (as != "PartialObjectMetadata") accepted.form = Accepted::Form::kList;
  } else {
    return std::nullopt;
  }
  return accepted;
}

}  // namespace

Result<Accepted> Negotiate(std::string_view accept, Transforms transforms, Streams streams) {
  if (accept.empty()) return Accepted{};
  bool known_type = false;
  bool wants_protobuf = false;
  for (Clause& clause : Parse(accept)) {
    if (std::optional<Accepted> accepted = Serve(clause, transforms)) return *accepted;
    wants_protobuf = wants_protobuf || clause.type == "application/vnd.kubernetes.protobuf";
    clause.parameters.clear();
    known_type = known_type || Serve(clause, transforms).has_value();
  }
  // The type is one of ours, but not in this form: upstream's handler finds out, not its router.
  if (known_type) {
    return Fail(Code::kNotAcceptable,
                "only the following media types are accepted: application/json, "
                "application/yaml, application/vnd.kubernetes.protobuf");
  }
  std::string available =
      "406: Not Acceptable\n\nAvailable representations: application/json, "
      "application/yaml";
  // Upstream's text, unless that would send somebody back for what there is not.
  if (!wants_protobuf) available += ", application/vnd.kubernetes.protobuf";
  if (streams == Streams::kYes) available += ", application/json;stream=watch";
  if (streams == Streams::kYes && !wants_protobuf) {
    available += ", application/vnd.kubernetes.protobuf;stream=watch";
  }
  return Fail(Code::kNotAcceptable, std::move(available));
}

DiscoveryForm NegotiateDiscovery(std::string_view accept) {
  for (const Clause& clause : Parse(accept)) {
    if (clause.type != "application/json" && clause.type != "*/*") continue;
    if (clause.Get("as") != "APIGroupDiscoveryList") {
      if (clause.Get("as").empty()) return DiscoveryForm::kLegacy;
      continue;
    }
    if (clause.Get("g") != "apidiscovery.k8s.io") continue;
    if (clause.Get("v") == "v2") return DiscoveryForm::kAggregatedV2;
    if (clause.Get("v") == "v2beta1") return DiscoveryForm::kAggregatedV2Beta1;
  }
  return DiscoveryForm::kLegacy;
}

std::string MediaTypeOf(std::string_view content_type) {
  return Lower(Trimmed(content_type.substr(0, content_type.find(';'))));
}

}  // namespace drachma::apiserver
