#include <array>
#include <string>
#include <vector>

#include "cel/eval/regex.h"
#include "cel/ext/library.h"
#include "cel/ext/named_format.h"
#include "cel/ext/url.h"

// Kubernetes' libraries of URLs, patterns and named formats.

namespace drachma::cel {
namespace {

using Args = std::span<const Value>;

// --- URLs

struct UrlData : OpaqueData {
  Url url;
};

class UrlClass final : public OpaqueClass {
 public:
  std::string_view name() const override { return "kubernetes.URL"; }
  std::string_view GoName(const OpaqueData&) const override { return "cel.URL"; }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.IsError()) return other;
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type != this) {
      return NoSuchOverload();
    }
    return Value::Bool(ToString(self) == ToString(other.AsOpaque()));
  }
  std::string ToString(const OpaqueData& self) const override {
    return static_cast<const UrlData&>(self).url.ToString();
  }
};
const UrlClass kUrlClass;

Value ToUrl(Arena& arena, Args args) {
  auto url = Url::Parse(args[0].AsText());
  if (!url) {
    return MakeError(arena, "URL parse error during conversion from string: " + url.error());
  }
  UrlData* data = arena.Own<UrlData>();
  data->type = &kUrlClass;
  data->url = *std::move(url);
  return Value::Opaque(data);
}
Value IsUrl(Arena&, Args args) {
  return Value::Bool(Url::ParseRequest(args[0].AsText()).has_value());
}

const Url& UrlOf(const Value& value) { return static_cast<const UrlData&>(value.AsOpaque()).url; }

using UrlText = std::string (*)(const Url&);
template <UrlText kText>
Value UrlPart(Arena& arena, Args args) {
  return MakeString(arena, kText(UrlOf(args[0])));
}
std::string Scheme(const Url& url) { return url.scheme; }
std::string Host(const Url& url) { return url.host; }
std::string Hostname(const Url& url) { return url.Hostname(); }
std::string Port(const Url& url) { return url.Port(); }
std::string EscapedPath(const Url& url) { return url.EscapedPath(); }

Value GetQuery(Arena& arena, Args args) {
  std::vector<MapEntry> entries;
  for (const auto& [key, texts] : UrlOf(args[0]).Query()) {
    std::vector<Value> values;
    for (const std::string& text : texts) values.push_back(MakeString(arena, text));
    entries.push_back({.key = MakeString(arena, key), .value = MakeList(arena, values)});
  }
  return MakeMap(arena, entries);
}

constexpr auto kUrls = std::to_array<LibraryFunction>({
    {"url", "string_to_url", "(string) -> kubernetes.URL", ToUrl},
    {"getScheme", "url_get_scheme", "kubernetes.URL.() -> string", UrlPart<Scheme>},
    {"getHost", "url_get_host", "kubernetes.URL.() -> string", UrlPart<Host>},
    {"getHostname", "url_get_hostname", "kubernetes.URL.() -> string", UrlPart<Hostname>},
    {"getPort", "url_get_port", "kubernetes.URL.() -> string", UrlPart<Port>},
    {"getEscapedPath", "url_get_escaped_path", "kubernetes.URL.() -> string", UrlPart<EscapedPath>},
    {"getQuery", "url_get_query", "kubernetes.URL.() -> map(string, list(string))", GetQuery},
    {"isURL", "is_url_string", "(string) -> bool", IsUrl},
});

// --- Patterns

constexpr auto kRegex = std::to_array<LibraryFunction>({
    {"find", "string_find_string", "string.(string) -> string", RegexFind},
    {"findAll", "string_find_all_string", "string.(string) -> list(string)", RegexFindAll},
    {"findAll", "string_find_all_string_int", "string.(string, int) -> list(string)", RegexFindAll},
});

// --- Named formats

struct FormatData : OpaqueData {
  const NamedFormat* format = nullptr;
};

class FormatClass final : public OpaqueClass {
 public:
  std::string_view name() const override { return "kubernetes.NamedFormat"; }
  std::string_view GoName(const OpaqueData&) const override { return "cel.Format"; }
  Value Equal(const OpaqueData& self, const Value& other) const override {
    if (other.IsError()) return other;
    if (other.kind() != ValueKind::kOpaque || other.AsOpaque().type != this) {
      return NoSuchOverload();
    }
    return Value::Bool(static_cast<const FormatData&>(self).format ==
                       static_cast<const FormatData&>(other.AsOpaque()).format);
  }
  std::string ToString(const OpaqueData& self) const override {
    return std::string(static_cast<const FormatData&>(self).format->name);
  }
};
const FormatClass kFormatClass;

Value MakeFormat(Arena& arena, const NamedFormat* format) {
  FormatData* data = arena.New<FormatData>();
  data->type = &kFormatClass;
  data->format = format;
  return Value::Opaque(data);
}

Value FormatNamed(Arena& arena, Args args) {
  const NamedFormat* format = FindNamedFormat(args[0].AsText());
  if (format == nullptr) return Value::Optional(nullptr);
  return MakeOptional(arena, MakeFormat(arena, format));
}

Value Validate(Arena& arena, Args args) {
  const NamedFormat* format = NamedFormatOf(args[0]);
  std::vector<Value> errors;
  for (const std::string& error : format->validate(args[1].AsText())) {
    errors.push_back(MakeString(arena, error));
  }
  if (errors.empty()) return Value::Optional(nullptr);
  return MakeOptional(arena, MakeList(arena, errors));
}

template <std::size_t kIndex>
Value ConstantFormat(Arena& arena, Args) {
  return MakeFormat(arena, &NamedFormats()[kIndex]);
}

constexpr auto kFormats = std::to_array<LibraryFunction>({
    {"validate", "format-validate",
     "kubernetes.NamedFormat.(string) -> optional_type(list(string))", Validate},
    {"format.named", "format-named", "(string) -> optional_type(kubernetes.NamedFormat)",
     FormatNamed},
});

// format.dns1123Label() and so on, in the order of NamedFormats().
constexpr std::array<FunctionBody, kNamedFormatCount> kConstantFormats =
    []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      return std::array<FunctionBody, kNamedFormatCount>{ConstantFormat<kIndex>...};
    }(std::make_index_sequence<kNamedFormatCount>());

}  // namespace

const NamedFormat* NamedFormatOf(const Value& value) {
  if (value.kind() != ValueKind::kOpaque || value.AsOpaque().type != &kFormatClass) return nullptr;
  return static_cast<const FormatData&>(value.AsOpaque()).format;
}

void AddKubernetesUrls(Environment& env) { env.Add(kUrls); }
void AddKubernetesRegex(Environment& env) { env.Add(kRegex); }

void AddKubernetesFormat(Environment& env) {
  env.Add(kFormats);
  for (std::size_t i = 0; i < kNamedFormatCount; ++i) {
    const std::string_view name =
        env.check.arena().CopyString("format." + std::string(NamedFormats()[i].key));
    env.check.AddFunction(name, name, "() -> kubernetes.NamedFormat");
    env.functions.AddOverload(name, kConstantFormats[i], kOneByOne);
  }
}

}  // namespace drachma::cel
