#include "validation/declarative_formats.h"

#include <fmt/format.h>

#include <utility>

#include "validation/names.h"
#include "validation/object_meta.h"

namespace drachma::validation {
namespace {

// What the formats of upstream's strfmt.go say about a text.
ErrorList CIdentifier(std::string_view path, std::string_view id) {
  constexpr std::size_t kIdMax = 32;
  ErrorList errors;
  if (id.size() > kIdMax) errors.push_back(TooLong(std::string(path), kIdMax));
  Append(errors, InvalidEach(path, id, IsCIdentifier(id)));
  return errors;
}

ErrorList FullyQualifiedName(std::string_view path, std::string_view text) {
  constexpr std::size_t kDomainMax = 63;
  ErrorList errors;
  const auto parts = Split(text, '/');
  if (parts.size() == 1) {
    errors = CIdentifier(path, text);
  } else if (parts.size() == 2) {
    if (parts[0].empty()) {
      errors.push_back(Invalid(std::string(path), "\"\"", "prefix must not be empty"));
    } else {
      if (parts[0].size() > kDomainMax) errors.push_back(TooLong(std::string(path), kDomainMax));
      for (const std::string& fault : IsLongName(parts[0])) {
        errors.push_back(Invalid(std::string(path), ShownText(parts[0]), "prefix: " + fault));
      }
    }
    if (parts[1].empty()) {
      errors.push_back(Invalid(std::string(path), "\"\"", "name must not be empty"));
    } else {
      Append(errors, CIdentifier(path, parts[1]));
    }
  }
  if (!text.contains('/')) {
    errors.push_back(
        Invalid(std::string(path), ShownText(text),
                "a fully qualified name must be a domain and a name separated by a slash"));
  }
  return WithOrigin(std::move(errors), "format=k8s-resource-fully-qualified-name");
}

ErrorList PoolName(std::string_view path, std::string_view text) {
  constexpr std::size_t kPoolMax = 253;
  ErrorList errors;
  if (text.size() > kPoolMax) errors.push_back(TooLong(std::string(path), kPoolMax));
  const auto parts = Split(text, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty()) {
      errors.push_back(Invalid(std::string(path), ShownText(text),
                               fmt::format("segment {}: must not be empty", i)));
      continue;
    }
    for (const std::string& fault : IsLongName(parts[i])) {
      errors.push_back(
          Invalid(std::string(path), ShownText(parts[i]), fmt::format("segment {}: {}", i, fault)));
    }
  }
  return WithOrigin(std::move(errors), "format=k8s-resource-pool-name");
}

ErrorList ExtendedResource(std::string_view path, std::string_view text) {
  ErrorList errors;
  const auto add = [&](std::string detail) {
    errors.push_back(Invalid(std::string(path), ShownText(text), std::move(detail)));
  };
  if (!text.contains('/')) {
    add("a name must be a domain-prefixed path, such as 'example.com/my-prop'");
  } else if (text.contains("kubernetes.io/")) {
    add("must not have \"kubernetes.io/\" domain");
  }
  if (text.starts_with("requests.")) add("must not have \"requests.\" prefix");
  for (const std::string& fault : IsLabelKey("requests." + std::string(text))) add(fault);
  return WithOrigin(std::move(errors), "format=k8s-extended-resource-name");
}

ErrorList Uuid(std::string_view path, std::string_view text) {
  bool good = text.size() == 36;
  for (std::size_t i = 0; good && i < text.size(); ++i) {
    const char c = text[i];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    good = (i == 8 || i == 13 || i == 18 || i == 23) ? c == '-' : hex;
  }
  if (good) return {};
  return InvalidEach(path, text, {"must be a lowercase UUID in 8-4-4-4-12 format"},
                     "format=k8s-uuid");
}

ErrorList PrefixedLabelKey(std::string_view path, std::string_view text) {
  Faults faults = IsLabelKey(text);
  if (faults.empty() && !text.contains('/')) {
    faults.emplace_back("must include a prefix (e.g. 'example.com/key')");
  }
  return InvalidEach(path, text, faults, "format=k8s-prefixed-label-key");
}

}  // namespace

const std::map<std::string, DeclaredFormat, std::less<>>& DeclaredFormats() {
  static const std::map<std::string, DeclaredFormat, std::less<>> formats = {
      {"shortName",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsShortName(text), "format=k8s-short-name");
       }},
      {"longName",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsLongName(text), "format=k8s-long-name");
       }},
      {"longNameCaseless",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsLongNameCaseless(text), "format=k8s-long-name-caseless");
       }},
      {"labelKey",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsLabelKey(text), "format=k8s-label-key");
       }},
      {"labelValue",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsLabelValue(text), "format=k8s-label-value");
       }},
      {"pathSegmentName",
       [](auto path, auto text) {
         return InvalidEach(path, text, IsPathSegmentName(text), "format=k8s-path-segment-name");
       }},
      {"prefixedLabelKey", PrefixedLabelKey},
      {"extendedResourceName", ExtendedResource},
      {"resourceFullyQualifiedName", FullyQualifiedName},
      {"resourcePoolName", PoolName},
      {"uuid", Uuid},
  };
  return formats;
}

}  // namespace drachma::validation
