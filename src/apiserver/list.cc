#include "apiserver/list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "json/json.h"
#include "json/part.h"
#include "net/signing.h"
#include "validation/field_error.h"

namespace drachma::apiserver {

namespace {

// A Bloom filter of labels in a record's mark: two bits for each pair, one for each key; bit 0 says
// that it was made.
constexpr std::uint64_t kMarked = 1;

std::uint64_t BitOf(std::size_t hash) { return std::uint64_t{1} << (1 + hash % 63); }

std::uint64_t MarkOfKey(std::string_view key) { return BitOf(std::hash<std::string_view>()(key)); }

std::uint64_t MarkOfPair(std::string_view key, std::string_view value) {
  const std::size_t hash =
      std::hash<std::string_view>()(value) * 31 + std::hash<std::string_view>()(key);
  return BitOf(hash) | BitOf(hash >> 32);
}

std::uint64_t MarkOf(const store::Record& record) {
  if (record.mark() != 0) return record.mark();
  const std::shared_ptr<const std::string> text = record.TextIfMade();
  static const std::vector<std::string> kLabels = {"metadata.labels"};
  const json::Value object = text != nullptr ? json::ReadPart(*text, kLabels) : record.Object();
  std::uint64_t mark = kMarked;
  for (const json::Member& label : object["metadata"]["labels"].Members()) {
    mark |= MarkOfKey(label.key()) | MarkOfPair(label.key(), label.value.AsString());
  }
  record.SetMark(mark);
  return mark;
}

std::uint64_t MarksOf(const api::LabelSelector& selector) {
  using Operator = api::LabelRequirement::Operator;
  std::uint64_t marks = 0;
  for (const api::LabelRequirement& requirement : selector.requirements()) {
    switch (requirement.op) {
      case Operator::kIn:
      case Operator::kEquals:
      case Operator::kDoubleEquals:
        if (requirement.values.size() == 1) {
          marks |= MarkOfPair(requirement.key, requirement.values.front());
        }
        [[fallthrough]];
      case Operator::kExists:
      case Operator::kGreaterThan:
      case Operator::kLessThan:
        marks |= MarkOfKey(requirement.key);
        break;
      case Operator::kNotIn:
      case Operator::kNotEquals:
      case Operator::kDoesNotExist:
        break;  // objects without the label match, too
    }
  }
  return marks;
}

}  // namespace

bool Selection::Matches(const store::Record& record) const {
  if (everything) return true;
  if (marks != 0 && (MarkOf(record) & marks) != marks) return false;
  const std::shared_ptr<const std::string> text = record.TextIfMade();
  const json::Value object = text != nullptr ? json::ReadPart(*text, members) : record.Object();
  return labels.Matches(object["metadata"]["labels"]) && fields.Matches(object);
}

Result<Selection> SelectionOf(const Kind& kind, const client::Request& call) {
  Selection selection{.scope = kind.ScopeOf(call.ns)};
  if (!call.label_selector.empty()) {
    DRA_ASSIGN(selection.labels, api::LabelSelector::Parse(call.label_selector));
  }
  if (!call.field_selector.empty()) {
    DRA_ASSIGN(selection.fields, api::FieldSelector::Parse(call.field_selector));
    DRA_TRY(selection.fields.Resolve(kind.info(), call.resource.version));
  }
  // One object by name is one key of the store.
  const std::string* name = selection.fields.RequiredValue("metadata.name");
  if (!call.name.empty()) name = &call.name;
  if (name != nullptr && !name->empty() && (!call.ns.empty() || !kind.info().namespaced())) {
    selection.scope = kind.KeyOf(call.ns, *name);
  }
  selection.everything = selection.labels.empty() && selection.fields.empty();
  selection.marks = MarksOf(selection.labels);
  selection.members = selection.fields.Members();
  if (!selection.labels.empty()) selection.members.emplace_back("metadata.labels");
  return selection;
}

Result<store::Revision> ParseResourceVersion(const std::string& text) {
  if (text.empty()) return 0;
  store::Revision revision = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), revision);
  if (error != std::errc() || end != text.data() + text.size() || revision < 0) {
    return Fail(Code::kUnknown,
                fmt::format("resourceVersion: Invalid value: {0}: strconv.ParseUint: parsing {0}: "
                            "invalid syntax",
                            validation::ShownText(text)));
  }
  return revision;
}

Error TooLargeResourceVersion(store::Revision wanted, store::Revision current) {
  return {.code = Code::kTimeout,
          .message =
              fmt::format("Timeout: Too large resource version: {}, current: {}", wanted, current),
          .causes = {{.reason = "ResourceVersionTooLarge",
                      .field = "",
                      .message = "Too large resource version"}},
          .retry_after_seconds = 1};
}

namespace {

// Upstream's continue token: {"v":"meta.k8s.io/v1","rv":409,"start":"/cm1\u0000"}, base64url.
struct ContinueToken {
  store::Revision revision = 0;
  std::string after;  // the last key that was sent, below the scope
};

std::string EncodeToken(const ContinueToken& token) {
  std::string start = "/" + token.after;
  start.push_back('\0');
  return net::Base64UrlEncode(json::Write(
      json::Value::Object({{"v", "meta.k8s.io/v1"}, {"rv", token.revision}, {"start", start}})));
}

// Where Go's decoder stops in text that is no base64url without padding.
std::size_t FirstBadByte(std::string_view text) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::size_t bad = text.find_first_not_of(kAlphabet);
  return bad != std::string_view::npos || text.empty() ? std::min(bad, text.size())
                                                       : text.size() - 1;
}

Result<ContinueToken> DecodeToken(const std::string& text) {
  const Result<std::string> bytes = net::Base64UrlDecode(text);
  if (!bytes) {
    return BadInput(fmt::format(
        "invalid continue token: continue key is not valid: illegal base64 data at input byte {}",
        FirstBadByte(text)));
  }
  const Result<json::Value> token = json::Read(*bytes);
  if (!token)
    return BadInput(fmt::format("invalid continue token: continue key is not valid: {}",
                                token.error().message));
  if ((*token)["v"].AsString() != "meta.k8s.io/v1") {
    return BadInput(
        fmt::format("invalid continue token: continue key is not valid: server does not recognize "
                    "this encoded version \"{}\"",
                    (*token)["v"].AsString()));
  }
  std::string_view start = (*token)["start"].AsString();
  if (start.empty()) {
    return BadInput(
        "invalid continue token: continue key is not valid: encoded start key must not be empty");
  }
  start.remove_prefix(start.front() == '/');
  if (!start.empty() && start.back() == '\0') start.remove_suffix(1);
  return ContinueToken{.revision = (*token)["rv"].AsInt(), .after = std::string(start)};
}

Error ExpiredList() {
  return {.code = Code::kExpired,
          .message =
              "The provided continue parameter is too old to display a consistent list "
              "result. You must start a new list without the continue parameter."};
}

Error OldVersion(store::Revision revision, const store::Store& store) {
  return {.code = Code::kExpired,
          .message =
              fmt::format("too old resource version: {} ({})", revision, store.Stats().compacted)};
}

// Where the list starts: position and moment.
Result<store::ListOptions> StartOf(const store::Store& store, const Selection& selection,
                                   const client::Request& call) {
  store::ListOptions options;
  if (!call.continue_token.empty()) {
    if (!call.resource_version.empty() && call.resource_version != "0") {
      return BadInput("specifying resource version is not allowed when using continue");
    }
    DRA_ASSIGN(const ContinueToken token, DecodeToken(call.continue_token));
    options.after_key = selection.scope + token.after;
    options.at = std::max<store::Revision>(token.revision, 0);
    return options;
  }
  const Result<store::Revision> parsed = ParseResourceVersion(call.resource_version);
  if (!parsed) return BadInput("invalid resource version: " + parsed.error().message);
  const store::Revision wanted = *parsed;
  if (wanted > store.Current()) {
    return std::unexpected(TooLargeResourceVersion(wanted, store.Current()));
  }
  if (call.resource_version_match == "Exact") options.at = wanted;
  return options;
}

}  // namespace

Result<Answer::List> ListRecords(const store::Store& store, const Kind& kind,
                                 const client::Request& call) {
  DRA_TRY(CheckListOptions(call));
  DRA_ASSIGN(const Selection selection, SelectionOf(kind, call));
  DRA_ASSIGN(store::ListOptions options, StartOf(store, selection, call));
  options.marks = selection.marks;
  const auto limit = static_cast<std::size_t>(std::max<std::int64_t>(call.limit, 0));
  Answer::List list;
  for (;;) {
    options.limit = limit == 0 ? 0 : limit - list.records.size();
    Result<store::Page> page = store.List(selection.scope, options);
    if (!page) {
      if (page.error().code != Code::kExpired) return std::unexpected(std::move(page.error()));
      return std::unexpected(call.continue_token.empty() ? OldVersion(options.at, store)
                                                         : ExpiredList());
    }
    list.revision = page->revision;
    options.at = page->revision;
    if (selection.everything && list.records.empty()) {
      list.records = std::move(page->records);
    } else {
      if (!page->records.empty()) options.after_key = page->records.back()->key;
      for (store::RecordPtr& record : page->records) {
        if (selection.Matches(*record)) list.records.push_back(std::move(record));
      }
    }
    if (!page->more) return list;
    if (list.records.size() < limit) continue;
    list.continue_token =
        EncodeToken({.revision = page->revision,
                     .after = list.records.back()->key.substr(selection.scope.size())});
    if (selection.everything) list.remaining = page->remaining;
    return list;
  }
}

}  // namespace drachma::apiserver
