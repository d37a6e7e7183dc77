#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/conversion.h"
#include "api/decode.h"
#include "api/defaults.h"
#include "api/features.h"
#include "api/kinds.h"
#include "base/clock.h"
#include "json/json.h"
#include "validation/strategy.h"

// Answers of kube-apiserver 1.37.2 to writes, replayed without a server: decode, defaults,
// conversion and the strategies of this folder, with a map of objects for what a case wrote before.
// The data (tests/validation/*.jsonl) holds requests and what is to be said about them, see its
// README.

namespace drachma::validation {
namespace {

using json::Value;

constexpr const char* kNow = "2026-01-02T03:04:05Z";
constexpr const char* kUid = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";
constexpr const char* kUnique = "abcd0001";

// The parts of a request's path.
struct Target {
  std::string group;
  std::string version;
  std::string resource;
  std::string ns;
  std::string name;
  std::string subresource;
};

std::vector<std::string> SplitPath(std::string path) {
  path = path.substr(0, path.find('?'));
  std::vector<std::string> parts;
  std::size_t from = 1;
  while (from <= path.size()) {
    const std::size_t at = std::min(path.find('/', from), path.size());
    parts.push_back(path.substr(from, at - from));
    from = at + 1;
  }
  return parts;
}

Target ParsePath(const std::string& path) {
  std::vector<std::string> parts = SplitPath(path);
  Target target;
  std::size_t at = 1;
  if (parts[0] == "apis") target.group = parts[at++];
  target.version = parts[at++];
  if (parts[at] == "namespaces" && parts.size() > at + 2 && parts[at + 2] != "status") {
    target.ns = parts[at + 1];
    at += 2;
  }
  target.resource = parts[at++];
  if (at < parts.size()) target.name = parts[at++];
  if (at < parts.size()) target.subresource = parts[at++];
  return target;
}

void ReplaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// What an answer says, as the data has it.
struct Answer {
  int status = 200;
  std::string message;
  std::vector<Cause> causes;
  std::vector<std::string> warnings;
  Value object;
};

Answer OfError(const Error& error) {
  return {.status = HttpStatus(error.code), .message = error.message, .causes = error.causes};
}

// Objects and the course of a write, as far as strategies need them.
class SmallServer {
 public:
  // `gates` as of a command line; the others stand at their defaults.
  explicit SmallServer(std::string_view gates) { EXPECT_TRUE(gates_.Set(gates)); }

  Answer Do(const std::string& method, const std::string& path, const Value& body,
            const std::string& content_type) {
    const Target target = ParsePath(path);
    const api::KindInfo* kind = api::FindResource(target.group, target.version, target.resource);
    if (kind == nullptr) return {.status = 404};
    const std::string key = Key(target);
    const auto found = objects_.find(key);
    if (method == "GET") {
      return found == objects_.end() ? Answer{.status = 404} : Answer{.object = found->second};
    }
    if (method == "DELETE") {
      if (found != objects_.end()) objects_.erase(found);
      return {};
    }
    if (method == "POST") return Create(*kind, target, body);
    if (found == objects_.end()) return {.status = 404};
    return Update(*kind, target, method, body, content_type, found->second);
  }

 private:
  static std::string Key(const Target& target) {
    return fmt::format("{}/{}/{}/{}", target.group, target.resource, target.ns, target.name);
  }

  Context MakeContext(const Target& target, std::string verb) {
    Context context;
    context.verb = std::move(verb);
    context.group = target.group;
    context.version = target.version;
    context.resource = target.resource;
    context.subresource = target.subresource;
    context.ns = target.ns;
    context.name = target.name;
    context.now = kNow;
    context.enabled = [this](std::string_view name) {
      for (const api::GateInfo& gate : api::AllGates()) {
        if (gate.name == name) return gates_.On(gate.gate);
      }
      return false;
    };
    context.lookup_namespace = [this](std::string_view ns) -> Result<Value> {
      const auto found = objects_.find(fmt::format("/namespaces//{}", ns));
      if (found == objects_.end()) return Fail(Code::kNotFound, "not found");
      return found->second;
    };
    context.new_uid = [] { return std::string(kUid); };
    context.name_suffix = [] { return std::string("xxxxx"); };
    return context;
  }

  // The object in its stored form. ERRORS: as the decoder's.
  static Result<Value> Read(const api::KindInfo& kind, const Target& target, const Value& body) {
    const api::VersionInfo* version = kind.FindVersion(target.version);
    DRA_ASSIGN(Value object, api::Canonical(body, *version->type));
    object.Set("apiVersion", api::GroupVersion(kind.group, target.version));
    object.Set("kind", kind.kind);
    api::SetDefaults(kind.group, target.version, kind.kind, Time{}, object);
    return api::Convert(std::move(object), api::GroupVersion(kind.group, kind.storage_version));
  }

  Answer Create(const api::KindInfo& kind, const Target& target, const Value& body) {
    auto object = Read(kind, target, body);
    if (!object) return OfError(object.error());
    Context context = MakeContext(target, "create");
    context.sent = body;
    Answer answer{.status = 201};
    const Strategy& strategy = StrategyFor(kind.group, kind.kind, target.subresource);
    const Status status = BeforeCreate(strategy, context, *object, &answer.warnings);
    if (!status) return OfError(status.error());
    Target named = target;
    named.name = (*object)["metadata"]["name"].AsString();
    if (objects_.contains(Key(named))) return {.status = 409};
    object->Edit("metadata").Set("resourceVersion", std::to_string(++revision_));
    objects_[Key(named)] = *object;
    answer.object = *object;
    return answer;
  }

  Answer Update(const api::KindInfo& kind, const Target& target, const std::string& method,
                const Value& body, const std::string& content_type, Value& stored) {
    const std::string wire = api::GroupVersion(kind.group, target.version);
    Value wanted = body;
    if (method == "PATCH") {
      auto current = api::Convert(stored, wire);
      if (!current) return OfError(current.error());
      if (content_type == "application/json-patch+json") {
        auto patched = json::JsonPatch(*current, body);
        if (!patched) return OfError(patched.error());
        wanted = std::move(*patched);
      } else {
        wanted = json::MergePatch(*current, body);
      }
    }
    auto object = Read(kind, target, wanted);
    if (!object) return OfError(object.error());
    const Context context = MakeContext(target, method == "PATCH" ? "patch" : "update");
    const Strategy& strategy = StrategyFor(kind.group, kind.kind, target.subresource);
    Value& meta = object->Edit("metadata");
    if (meta["name"].AsString().empty()) meta.Set("name", target.name);
    const std::string given(meta["resourceVersion"].AsString());
    if (given.empty()) {
      const bool allowed = strategy.allow_unconditional_update == nullptr ||
                           strategy.allow_unconditional_update(context);
      if (!allowed) return OfError(MissingResourceVersion(context, target.name));
      meta.Set("resourceVersion", stored["metadata"]["resourceVersion"]);
    } else if (given != stored["metadata"]["resourceVersion"].AsString()) {
      return {.status = 409};
    }
    Answer answer;
    const Status status = BeforeUpdate(strategy, context, *object, stored, &answer.warnings);
    if (!status) return OfError(status.error());
    object->Edit("metadata").Set("resourceVersion", std::to_string(++revision_));
    stored = *object;
    answer.object = *object;
    return answer;
  }

  api::FeatureGates gates_;
  std::map<std::string, Value> objects_;
  int revision_ = 0;
};

// Text of a request with its placeholders filled in: {{u}} and {{STEP.path.to.value}}.
std::string FillIn(std::string text, const std::vector<Answer>& answers) {
  ReplaceAll(text, "{{u}}", kUnique);
  for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at + 1)) {
    const std::size_t end = text.find("}}", at);
    if (end == std::string::npos) break;
    const std::string inside = text.substr(at + 2, end - at - 2);
    const std::size_t dot = inside.find('.');
    if (dot == std::string::npos) continue;
    const Value* value = &answers[std::stoul(inside.substr(0, dot))].object;
    for (std::size_t from = dot + 1; from <= inside.size();) {
      const std::size_t next = std::min(inside.find('.', from), inside.size());
      value = &(*value)[inside.substr(from, next - from)];
      from = next + 1;
    }
    text.replace(at, end + 2 - at, value->AsString());
  }
  return text;
}

// The message without what is different each time; lists of errors sorted.
std::string Masked(std::string text) {
  ReplaceAll(text, kUnique, "{{u}}");
  ReplaceAll(text, "xxxxx", "<rand>");
  ReplaceAll(text, kUid, "<uid>");
  return text;
}

std::multiset<std::string> CausesOf(const Answer& answer) {
  std::multiset<std::string> out;
  for (const Cause& cause : answer.causes) {
    out.insert(Masked(fmt::format("{} {} {}", cause.reason, cause.field, cause.message)));
  }
  return out;
}

std::multiset<std::string> CausesOf(const Value& expected) {
  std::multiset<std::string> out;
  for (const Value& cause : expected["causes"].Items()) {
    out.insert(fmt::format("{} {} {}", cause["reason"].AsString(), cause["field"].AsString(),
                           cause["message"].AsString()));
  }
  return out;
}

std::string Joined(const std::multiset<std::string>& lines) {
  return fmt::format("\n    {}", fmt::join(lines, "\n    "));
}

// What is different between an answer and the recorded one; empty when nothing is.
std::string Difference(const Answer& got, const Value& expected) {
  const int status = static_cast<int>(expected["status"].AsInt());
  if (got.status != status) {
    return fmt::format("status {} instead of {}: {}{}\n  instead of {}", got.status, status,
                       got.message, Joined(CausesOf(got)), Joined(CausesOf(expected)));
  }
  if (status != 422 && status != 403) return {};
  if (CausesOf(got) != CausesOf(expected)) {
    return fmt::format("causes{}\n  instead of{}", Joined(CausesOf(got)),
                       Joined(CausesOf(expected)));
  }
  return {};
}

// The first difference of a case.
std::string RunCase(const Value& data) {
  SmallServer server(data["gates"].AsString());
  std::vector<Answer> answers;
  const auto steps = data["steps"].Items();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string path = FillIn(std::string(steps[i]["path"].AsString()), answers);
    const auto body = json::Read(FillIn(json::Write(steps[i]["body"]), answers));
    answers.push_back(server.Do(std::string(steps[i]["method"].AsString()), path, *body,
                                std::string(steps[i]["contentType"].AsString())));
    std::string difference = Difference(answers.back(), data["expect"].Items()[i]);
    if (!difference.empty()) return fmt::format("step {}: {}", i, difference);
  }
  return {};
}

std::filesystem::path DataFolder() {
  if (const char* other = std::getenv("DRACHMA_VALIDATION_DATA")) return other;
  return std::filesystem::path(DRACHMA_SOURCE_DIR) / "tests/validation";
}

TEST(Golden, EveryRecordedAnswerIsGivenAgain) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DataFolder())) {
    if (entry.path().extension() != ".jsonl") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const auto data = json::Read(line);
      ASSERT_TRUE(data.has_value()) << entry.path() << ": " << line;
      const std::string difference = RunCase(*data);
      EXPECT_EQ(difference, "") << (*data)["id"].AsString();
      ++cases;
    }
  }
  EXPECT_GT(cases, 0U);
}

}  // namespace
}  // namespace drachma::validation
