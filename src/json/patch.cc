#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "json/depth.h"
#include "json/json.h"
#include "json/pointer.h"

namespace drachma::json {

namespace {

// What all copy operations of one JSON patch together may add, as kube-apiserver limits it.
constexpr std::size_t kCopyBytesMax = 3 * 1024 * 1024;

// A value of a merge patch that meets nothing to merge with: members with null only say "remove".
Value WithoutNulls(const Value& value) {
  if (value.IsObject()) {
    Value kept = Value::Object();
    for (const Member& member : value.Members()) {
      if (!member.value.IsNull()) kept.SetByKey(member.key_value, WithoutNulls(member.value));
    }
    return kept;
  }
  if (value.IsArray()) {
    std::vector<Value> items;
    items.reserve(value.size());
    for (const Value& item : value.Items()) items.push_back(WithoutNulls(item));
    return Value::Array(std::move(items));
  }
  return value;
}

bool HasNullMember(const Value& object) {
  for (const Member& member : object.Members()) {
    if (member.value.IsNull()) return true;
  }
  return false;
}

enum class IndexUse : std::uint8_t { kExisting, kInsert };

// Applies the operations of one patch to one document.
class JsonPatcher {
 public:
  explicit JsonPatcher(Value document) : document_(std::move(document)) {}

  Status Apply(const Value& operation) {
    if (!operation.IsObject()) {
      return BadInput("json: cannot unmarshal value into Go value of type jsonpatch.Operation");
    }
    const std::string_view kind = operation["op"].AsString("unknown");
    if (kind == "add") return Add(operation);
    if (kind == "remove") return Remove(operation);
    if (kind == "replace") return Replace(operation);
    if (kind == "move") return Move(operation);
    if (kind == "test") return Test(operation);
    if (kind == "copy") return Copy(operation);
    return Fail(Code::kInvalid, fmt::format("Unexpected kind: {}", kind));
  }

  Value Take() { return std::move(document_); }

 private:
  // A container of the document and the last token of a pointer into it.
  struct Place {
    Value* container = nullptr;
    std::string key;
  };

  static Result<std::string> Pointer(const Value& operation, std::string_view member) {
    const Value& path = operation[member];
    if (path.IsString()) return std::string(path.AsString());
    return Fail(Code::kInvalid,
                fmt::format("{} operation failed to decode {}: operation missing {} field: missing "
                            "value",
                            operation["op"].AsString(), member, member));
  }

  // Null when the pointer leads through something that is not there. Only reads, so that an
  // operation that fails copies nothing.
  std::optional<std::vector<std::string>> Tokens(std::string_view pointer) const {
    std::vector<std::string> tokens;
    std::size_t slash = pointer.find('/');
    if (slash == std::string_view::npos) return std::nullopt;
    while (slash != std::string_view::npos) {
      const std::size_t next = pointer.find('/', slash + 1);
      tokens.push_back(UnescapePointerToken(pointer.substr(slash + 1, next - slash - 1)));
      slash = next;
    }
    return tokens;
  }

  Place Find(std::string_view pointer) {
    const auto tokens = Tokens(pointer);
    if (!tokens) return {};
    Value* at = &document_;
    for (std::size_t i = 0; i + 1 < tokens->size(); ++i) {
      const Value* next = Get(*at, (*tokens)[i]).value_or(nullptr);
      if (next == nullptr || !(next->IsObject() || next->IsArray())) return {};
      at = at->IsObject() ? &at->Edit((*tokens)[i])
                          : &at->EditItem(*Index(*at, (*tokens)[i], IndexUse::kExisting));
    }
    if (!at->IsObject() && !at->IsArray()) return {};
    return {at, tokens->back()};
  }

  static Result<std::size_t> Index(const Value& array, const std::string& key, IndexUse use) {
    std::int64_t index = 0;
    const char* begin = key.data();
    if (key.starts_with('+')) ++begin;
    const auto parsed = std::from_chars(begin, key.data() + key.size(), index);
    if (parsed.ec != std::errc() || parsed.ptr != key.data() + key.size()) {
      return Fail(Code::kInvalid, fmt::format("strconv.Atoi: parsing \"{}\": invalid syntax", key));
    }
    const auto size = static_cast<std::int64_t>(array.size()) + (use == IndexUse::kInsert ? 1 : 0);
    if (index >= size || index < -size) {
      return Fail(
          Code::kInvalid,
          fmt::format("Unable to access invalid index: {}: invalid index referenced", index));
    }
    return static_cast<std::size_t>(index < 0 ? index + size : index);
  }

  // The value at a key; a null pointer for an object's missing member.
  static Result<const Value*> Get(const Value& container, const std::string& key) {
    if (container.IsObject()) return container.Find(key);
    DRA_ASSIGN(const std::size_t index, Index(container, key, IndexUse::kExisting));
    return &container.Items()[index];
  }

  static Status AddAt(const Place& place, Value value) {
    if (place.container->IsObject()) {
      place.container->Set(place.key, std::move(value));
      return {};
    }
    if (place.key == "-") {
      place.container->Append(std::move(value));
      return {};
    }
    DRA_ASSIGN(const std::size_t index, Index(*place.container, place.key, IndexUse::kInsert));
    place.container->InsertItem(index, std::move(value));
    return {};
  }

  static Status RemoveAt(const Place& place) {
    if (place.container->IsObject()) {
      if (place.container->Erase(place.key)) return {};
      return Fail(Code::kInvalid,
                  fmt::format("Unable to remove nonexistent key: {}: missing value", place.key));
    }
    DRA_ASSIGN(const std::size_t index, Index(*place.container, place.key, IndexUse::kExisting));
    place.container->EraseItem(index);
    return {};
  }

  static std::unexpected<Error> Missing(std::string_view operation, std::string_view what,
                                        std::string_view path) {
    return Fail(Code::kInvalid, fmt::format("{} operation does not apply: doc is missing {}: {}: "
                                            "missing value",
                                            operation, what, path));
  }

  static Status Within(std::string_view operation, std::string_view path, Status status) {
    if (status) return {};
    return Fail(Code::kInvalid, fmt::format("error in {} for path: '{}': {}", operation, path,
                                            status.error().message));
  }

  // Operations could nest a document ever deeper, each one within the reader's limit.
  static Status CheckDepth(std::string_view path, const Value& value) {
    const auto levels = static_cast<std::size_t>(std::ranges::count(path, '/'));
    if (levels <= kDepthMax && !NestsDeeperThan(value, kDepthMax - levels)) return {};
    return Fail(Code::kInvalid, "exceeded max depth");
  }

  Status Add(const Value& operation) {
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    DRA_TRY(CheckDepth(path, operation["value"]));
    const Place place = Find(path);
    if (place.container == nullptr) return Missing("add", "path", fmt::format("\"{}\"", path));
    return Within("add", path, AddAt(place, operation["value"]));
  }

  Status Remove(const Value& operation) {
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    const Place place = Find(path);
    if (place.container == nullptr) return Missing("remove", "path", fmt::format("\"{}\"", path));
    return Within("remove", path, RemoveAt(place));
  }

  Status Replace(const Value& operation) {
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    const Value& value = operation["value"];
    DRA_TRY(CheckDepth(path, value));
    if (path.empty()) {
      if (!value.IsObject() && !value.IsArray()) {
        return Fail(Code::kInvalid, "replace operation value must be object or array: %!w(<nil>)");
      }
      document_ = value;
      return {};
    }
    const Place place = Find(path);
    if (place.container == nullptr) return Missing("replace", "path", path);
    if (place.container->IsObject()) {
      place.container->Set(place.key, value);
      return {};
    }
    const auto index = Index(*place.container, place.key, IndexUse::kExisting);
    if (!index) return Missing("replace", "key", path);
    place.container->EditItem(*index) = value;
    return {};
  }

  Status Move(const Value& operation) {
    DRA_ASSIGN(const std::string from, Pointer(operation, "from"));
    const Place source = Find(from);
    if (source.container == nullptr) return Missing("move", "from path", from);
    auto found = Get(*source.container, source.key);
    if (!found) return Within("move", source.key, std::unexpected(found.error()));
    const Value moved = *found == nullptr ? Value() : **found;
    DRA_TRY(Within("move", source.key, RemoveAt(source)));
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    DRA_TRY(CheckDepth(path, moved));
    const Place target = Find(path);
    if (target.container == nullptr) return Missing("move", "destination path", path);
    return Within("move", path, AddAt(target, moved));
  }

  Status Copy(const Value& operation) {
    DRA_ASSIGN(const std::string from, Pointer(operation, "from"));
    const Place source = Find(from);
    if (source.container == nullptr) return Missing("copy", "from path", from);
    auto found = Get(*source.container, source.key);
    if (!found) return Within("copy", from, std::unexpected(found.error()));
    const Value copied = *found == nullptr ? Value() : **found;
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    const Place target = Find(path);
    if (target.container == nullptr) return Missing("copy", "destination path", path);
    DRA_TRY(CheckDepth(path, copied));
    copied_bytes_ += Write(copied).size();
    if (copied_bytes_ > kCopyBytesMax) {
      return Fail(Code::kInvalid,
                  fmt::format("Unable to complete the copy, the accumulated size increase of copy "
                              "is {}, exceeding the limit {}",
                              copied_bytes_, kCopyBytesMax));
    }
    return AddAt(target, copied);
  }

  Status Test(const Value& operation) {
    DRA_ASSIGN(const std::string path, Pointer(operation, "path"));
    const Value& expected = operation["value"];
    const auto failed = [&path] {
      return Fail(Code::kInvalid, fmt::format("testing value {} failed: test failed", path));
    };
    if (path.empty()) return document_ == expected ? Status() : failed();
    const Place place = Find(path);
    if (place.container == nullptr) {
      return Fail(Code::kInvalid, fmt::format("test operation does not apply: is missing path: {}: "
                                              "missing value",
                                              path));
    }
    auto found = Get(*place.container, place.key);
    if (!found) return Within("test", path, std::unexpected(found.error()));
    const Value actual = *found == nullptr ? Value() : **found;
    return actual == expected ? Status() : failed();
  }

  Value document_;
  std::size_t copied_bytes_ = 0;
};

}  // namespace

Value MergePatch(Value target, const Value& patch) {
  if (!patch.IsObject()) return patch;
  if (!target.IsObject()) return WithoutNulls(patch);
  if (HasNullMember(patch)) {
    // All removals at once, so that they stay linear in large objects.
    Value kept = Value::Object();
    for (const Member& member : target.Members()) {
      const Value* change = patch.Find(member.key());
      if (change == nullptr || !change->IsNull()) kept.SetByKey(member.key_value, member.value);
    }
    target = std::move(kept);
  }
  for (const Member& member : patch.Members()) {
    if (member.value.IsNull()) continue;
    Value& place = target.Edit(member.key());
    place = MergePatch(std::move(place), member.value);
  }
  return target;
}

Result<Value> JsonPatch(Value target, const Value& patch) {
  if (!patch.IsArray()) {
    return BadInput("json: cannot unmarshal object into Go value of type jsonpatch.Patch");
  }
  JsonPatcher patcher(std::move(target));
  for (const Value& operation : patch.Items()) DRA_TRY(patcher.Apply(operation));
  return patcher.Take();
}

}  // namespace drachma::json
