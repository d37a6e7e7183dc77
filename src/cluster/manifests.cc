#include "cluster/manifests.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <utility>

#include "api/kinds.h"
#include "client/objects.h"
#include "controllers/compute_domain_kinds.h"
#include "gpu/driver.h"
#include "json/json.h"
#include "json/yaml.h"

namespace drachma::cluster {
namespace {

using json::Value;

// A claim of a file that is allocated had this when it was allocated; files leave it out.
constexpr std::string_view kClaimFinalizer = "resource.kubernetes.io/delete-protection";

// Who owns or names others by their uids is written before them; all other kinds come first.
struct Rank {
  std::string_view kind;
  int rank = 0;
};
constexpr Rank kRanks[] = {{"CustomResourceDefinition", -3},
                           {"ComputeDomain", -2},
                           {"Namespace", -1},
                           {"PriorityClass", -1},
                           {"Node", -1},
                           {"ReplicaSet", 1},
                           {"Job", 1},
                           {"Pod", 2},
                           {"ResourceClaim", 3}};

int RankOf(const Manifest& manifest) {
  const auto found = std::ranges::find(kRanks, manifest.kind->kind, &Rank::kind);
  return found == std::end(kRanks) ? 0 : found->rank;
}

constexpr std::array<std::string_view, 7> kWorkloads = {
    "Deployment", "ReplicaSet", "StatefulSet",          "DaemonSet",
    "Job",        "CronJob",    "ReplicationController"};

// A kind that a definition of the drivers declares.
api::KindInfo CustomKind(const Value& definition) {
  const Value& names = definition["spec"]["names"];
  const Value& version = definition["spec"]["versions"].Items()[0];
  static constexpr api::SubresourceInfo kStatus[] = {
      {.name = "status", .group_version = "", .kind = "", .verbs = api::kAllVerbs}};
  api::KindInfo info = {};
  info.group = definition["spec"]["group"].AsString();
  info.kind = names["kind"].AsString();
  info.plural = names["plural"].AsString();
  info.singular = names["singular"].AsString();
  info.scope = api::Scope::kNamespaced;
  info.versions = {{.version = version["name"].AsString(), .type = nullptr}};
  if (version["subresources"].Has("status")) info.subresources = kStatus;
  info.gate = api::Gate::kNone;
  return info;
}

const std::vector<api::KindInfo>& CustomKinds() {
  static const std::vector<api::KindInfo> kinds = [] {
    std::vector<api::KindInfo> made;
    for (const Value& definition : controllers::compute_domain::Definitions()) {
      made.push_back(CustomKind(definition));
    }
    return made;
  }();
  return kinds;
}

bool IsCustom(const Manifest& manifest) {
  return manifest.kind->group == controllers::compute_domain::kGroup;
}

// Null for kinds that are neither Kubernetes' nor the drivers'.
const api::KindInfo* FindKind(std::string_view group, std::string_view version,
                              std::string_view name) {
  if (const api::KindInfo* kind = api::FindKind(group, version, name)) return kind;
  for (const api::KindInfo& kind : CustomKinds()) {
    if (kind.group == group && kind.kind == name && kind.versions[0].version == version) {
      return &kind;
    }
  }
  return nullptr;
}

// Larger input is refused.
constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;
// Lists in lists are opened as deep as this.
constexpr int kListDepthMax = 8;

// A file that cannot be read to its end is an error, not a shorter file.
Result<std::string> ReadAll(const std::string& file) {
  std::ifstream opened;
  if (file != "-") {
    opened.open(file, std::ios::binary);
    if (!opened) {
      return Fail(Code::kNotFound, fmt::format("cannot read {}: {}", file, std::strerror(errno)));
    }
  }
  std::istream& stream = file == "-" ? std::cin : opened;
  std::string text;
  std::array<char, 1 << 16> block{};
  while (stream.read(block.data(), block.size()), stream.gcount() > 0) {
    text.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (text.size() > kFileBytesMax) {
      return BadInput(fmt::format("{}: larger than {} bytes", file, kFileBytesMax));
    }
  }
  if (stream.bad()) return Fail(Code::kInvalid, fmt::format("cannot read {} to its end", file));
  return text;
}

Result<Manifest> ToManifest(Value object, const std::string& file, int line) {
  const auto where = [&] { return fmt::format("{}:{}: ", file, line); };
  const std::string_view api_version = object["apiVersion"].AsString();
  const std::string_view kind_name = object["kind"].AsString();
  if (api_version.empty() || kind_name.empty()) {
    return Fail(Code::kInvalid, where() + "an object needs apiVersion and kind");
  }
  const auto [group, version] = api::SplitGroupVersion(api_version);
  const api::KindInfo* kind = FindKind(group, version, kind_name);
  if (kind == nullptr) {
    return Fail(Code::kInvalid, fmt::format("{}no matches for kind \"{}\" in version \"{}\"",
                                            where(), kind_name, api_version));
  }
  if (client::NameOf(object).empty() && object["metadata"]["generateName"].AsString().empty()) {
    return Fail(Code::kInvalid, fmt::format("{}{} needs metadata.name", where(), kind_name));
  }
  if (kind->namespaced() && client::NamespaceOf(object).empty()) {
    object.Edit("metadata").Set("namespace", "default");
  }
  // What `kubectl get -o yaml` says of the server that it came from.
  for (const std::string_view field : {"resourceVersion", "managedFields"}) {
    if (object["metadata"].Has(field)) object.Edit("metadata").Erase(field);
  }
  Value sent = object;
  // As kubectl sends them: the server keeps the text of opaque parameters and sorts it with the
  // first patch, which it then refuses as a change of what must stay.
  if (group == "resource.k8s.io") {
    DRA_ASSIGN(sent, json::ReadYamlValue(json::Write(object)));
  }
  return Manifest{
      .file = file,
      .line = line,
      .object = std::move(sent),
      .kind = kind,
      .resource = {std::string(group), std::string(version), std::string(kind->plural)}};
}

}  // namespace

std::vector<std::string> FilesOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    const std::string extension = entry.path().extension();
    if (extension == ".yaml" || extension == ".yml" || extension == ".json") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::string Manifest::Place() const {
  return fmt::format("{}:{}: {}/{}", file, line, kind->kind, client::NameOf(object));
}

bool Manifest::Is(std::string_view group, std::string_view kind_name) const {
  return kind->group == group && kind->kind == kind_name;
}

namespace {

constexpr std::string_view kListEnding = "List";

bool IsList(const Value& object) {
  const std::string_view kind = object["kind"].AsString();
  if (kind.empty()) return object["items"].IsArray();
  return kind.ends_with(kListEnding) && (object.Has("items") || kind == kListEnding);
}

// The item of a typed list ("PodList") may leave out what the list says.
Value WithKindOf(const Value& list, Value item) {
  std::string_view kind = list["kind"].AsString();
  kind = kind.substr(0, kind.size() - std::min(kind.size(), kListEnding.size()));
  if (kind.empty() || !item.IsObject() || item.Has("kind") || item.Has("apiVersion")) return item;
  item.Set("apiVersion", list["apiVersion"]);
  item.Set("kind", kind);
  return item;
}

// Of the object at `path`: keys that stand twice. YAML takes the last one.
std::vector<std::string> DuplicatesIn(const json::YamlDocument& document, std::string_view path,
                                      const std::string& file) {
  std::vector<std::string> warnings;
  for (const json::DuplicateKey& duplicate : document.duplicates) {
    const std::string_view at = duplicate.path;
    if (!at.starts_with(path) || (!path.empty() && !at.substr(path.size()).starts_with('.'))) {
      continue;
    }
    warnings.push_back(
        fmt::format("{}:{}: key \"{}\" is already set in its map: the last one counts", file,
                    duplicate.line, duplicate.key));
  }
  return warnings;
}

// Adds the object at `path` of a document, or what it lists.
Status AddObjects(const json::YamlDocument& document, const std::string& path, Value object,
                  const std::string& file, int depth, std::vector<Manifest>& manifests) {
  if (depth == kListDepthMax || !IsList(object)) {
    const int line = path.empty() ? document.begin.line : document.PlaceOf(path).value.line;
    DRA_ASSIGN(Manifest manifest, ToManifest(std::move(object), file, line));
    manifest.warnings = DuplicatesIn(document, path, file);
    manifests.push_back(std::move(manifest));
    return {};
  }
  for (std::size_t i = 0; i < object["items"].size(); ++i) {
    const std::string inner = fmt::format("{}{}items[{}]", path, path.empty() ? "" : ".", i);
    DRA_TRY(AddObjects(document, inner, WithKindOf(object, object["items"].Items()[i]), file,
                       depth + 1, manifests));
  }
  return {};
}

}  // namespace

Result<std::vector<Manifest>> ParseManifests(std::string_view text, const std::string& file) {
  Result<std::vector<json::YamlDocument>> documents = json::ReadYaml(text);
  if (!documents) {
    return Fail(Code::kInvalid, fmt::format("{}: {}", file, documents.error().message));
  }
  std::vector<Manifest> manifests;
  for (json::YamlDocument& document : *documents) {
    Value object = std::move(document.value);
    DRA_TRY(AddObjects(document, "", std::move(object), file, 0, manifests));
  }
  return manifests;
}

Result<std::vector<Manifest>> LoadManifests(const std::vector<std::string>& files) {
  std::vector<Manifest> manifests;
  for (const std::string& argument : files) {
    const std::vector<std::string> opened = FilesOf(argument);
    if (opened.empty()) {
      std::error_code problem;
      (void)std::filesystem::directory_iterator(argument, problem);
      return Fail(Code::kNotFound,
                  problem ? fmt::format("cannot read {}: {}", argument, problem.message())
                          : argument + ": holds no .yaml, .yml or .json file");
    }
    for (const std::string& file : opened) {
      DRA_ASSIGN(const std::string text, ReadAll(file));
      DRA_ASSIGN(std::vector<Manifest> more, ParseManifests(text, file));
      std::ranges::move(more, std::back_inserter(manifests));
    }
  }
  if (manifests.empty() && !files.empty()) {
    return Fail(Code::kInvalid, fmt::format("{}: no objects there", fmt::join(files, ", ")));
  }
  return manifests;
}

Result<std::vector<Manifest>> DriverManifests() {
  std::vector<Manifest> manifests;
  const auto add = [&](const std::vector<Value>& objects) -> Status {
    for (const Value& object : objects) {
      DRA_ASSIGN(Manifest manifest, ToManifest(object, "driver", 1));
      manifest.if_there = Manifest::IfThere::kKeep;
      manifests.push_back(std::move(manifest));
    }
    return {};
  };
  DRA_TRY(add(controllers::compute_domain::Definitions()));
  DRA_TRY(add(gpu::DeviceClasses()));
  return manifests;
}

bool IsGiven(const Manifest& manifest) {
  if (!client::UidOf(manifest.object).empty()) return true;
  if (manifest.Is("", "Pod")) {
    return !manifest.object["spec"]["nodeName"].AsString().empty();
  }
  return std::ranges::find(kWorkloads, manifest.kind->kind) == kWorkloads.end();
}

void BeginAnew(std::vector<Manifest>& manifests) {
  std::set<std::string, std::less<>> present;
  for (const Manifest& manifest : manifests) present.emplace(client::UidOf(manifest.object));
  for (Manifest& manifest : manifests) {
    if (manifest.Is("", "ResourceQuota")) manifest.object.Erase("status");
    const Value& owners = manifest.object.At({"metadata", "ownerReferences"});
    if (owners.empty()) continue;
    Value kept = Value::Array();
    for (const Value& owner : owners.Items()) {
      if (present.contains(owner["uid"].AsString())) kept.Append(owner);
    }
    manifest.object.Edit("metadata").Set("ownerReferences", std::move(kept));
  }
}

// Members that hold the uid of another object, among them those of compute domains.
constexpr std::array<std::string_view, 3> kUidMembers = {"uid", "domainID",
                                                         controllers::compute_domain::kLabel};

struct ManifestWriter::Run {
  std::vector<Manifest> manifests;
  std::size_t next = 0;
  std::function<void(Status)> done;
  Status first_error;
  std::size_t waiting = 0;
};

ManifestWriter::ManifestWriter(client::Client& client, Report report)
    : client_(client), report_(std::move(report)) {}

void ManifestWriter::NoteUid(const Manifest& manifest, const Value& answer) {
  const std::string_view uid = client::UidOf(manifest.object);
  if (!uid.empty()) uids_.insert_or_assign(std::string(uid), std::string(client::UidOf(answer)));
}

Value ManifestWriter::WithServerUids(const Value& value) const {
  if (value.IsObject()) {
    Value changed = value;
    for (const json::Member& member : value.Members()) {
      const bool holds_uid = std::ranges::find(kUidMembers, member.key()) != kUidMembers.end();
      if (holds_uid) {
        const auto known = uids_.find(member.value.AsString());
        if (known != uids_.end()) changed.Set(member.key(), known->second);
      } else if (member.value.IsObject() || member.value.IsArray()) {
        changed.Set(member.key(), WithServerUids(member.value));
      }
    }
    return changed;
  }
  if (value.IsArray()) {
    Value changed = Value::Array();
    for (const Value& item : value.Items()) changed.Append(WithServerUids(item));
    return changed;
  }
  return value;
}

void ManifestWriter::EnsureNamespace(const Manifest& manifest, std::function<void(Status)> done) {
  const std::string ns(client::NamespaceOf(manifest.object));
  if (!manifest.kind->namespaced() || !namespaces_.insert(ns).second) {
    done({});
    return;
  }
  Value object = Value::Object(
      {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", Value::Object({{"name", ns}})}});
  client_.Call(
      client::CreateRequest(client::resources::kNamespaces, "", std::move(object)),
      [alive = std::weak_ptr(alive_), done = std::move(done)](const Result<Value>& answer) {
        if (alive.expired()) return;
        const bool there = answer || answer.error().code == Code::kAlreadyExists;
        done(there ? Status() : Status(std::unexpected(answer.error())));
      });
}

void ManifestWriter::WriteOne(const Manifest& manifest, OneDone done, int tries) {
  client::Request request = client::CreateRequest(
      manifest.resource, client::NamespaceOf(manifest.object), WithServerUids(manifest.object));
  request.field_validation = "Strict";
  const bool allocated = manifest.Is("resource.k8s.io", "ResourceClaim") &&
                         !manifest.object["status"]["allocation"].IsNull();
  if (allocated && !client::HasFinalizer(request.body, kClaimFinalizer)) {
    request.body.Edit("metadata").Edit("finalizers").Append(kClaimFinalizer);
  }
  client_.Call(std::move(request), [this, alive = std::weak_ptr(alive_), manifest, tries,
                                    done = std::move(done)](Result<Value> answer) mutable {
    if (alive.expired()) return;
    if (!answer && answer.error().code == Code::kNotFound && IsCustom(manifest) &&
        tries < kTriesMax) {
      client_.executor().PostAfter(
          kRetry, [this, alive, manifest, tries, done = std::move(done)]() mutable {
            if (!alive.expired()) WriteOne(manifest, std::move(done), tries + 1);
          });
      return;
    }
    if (answer) {
      NoteUid(manifest, *answer);
      WriteStatus(manifest, "created", std::move(done));
    } else if (answer.error().code == Code::kAlreadyExists) {
      if (manifest.if_there == Manifest::IfThere::kKeep) return done("unchanged");
      Merge(manifest, std::move(done));
    } else {
      done(std::unexpected(answer.error()));
    }
  });
}

void ManifestWriter::Merge(const Manifest& manifest, OneDone done) {
  Value patch = WithServerUids(manifest.object);
  patch.Erase("status");
  patch.Edit("metadata").Erase("uid");
  client::Request get = client::GetRequest(manifest.resource, client::NamespaceOf(manifest.object),
                                           client::NameOf(manifest.object));
  client_.Call(
      std::move(get), [this, alive = std::weak_ptr(alive_), manifest, patch = std::move(patch),
                       done = std::move(done)](Result<Value> before) mutable {
        if (alive.expired()) return;
        if (!before) {
          done(std::unexpected(before.error()));
          return;
        }
        NoteUid(manifest, *before);
        client::Request request = client::PatchRequest(
            manifest.resource, client::NamespaceOf(manifest.object),
            client::NameOf(manifest.object), client::PatchType::kMerge, std::move(patch));
        client_.Call(std::move(request), [this, alive, manifest,
                                          version = std::string(client::ResourceVersionOf(*before)),
                                          done = std::move(done)](Result<Value> after) mutable {
          if (alive.expired()) return;
          if (!after) {
            done(std::unexpected(after.error()));
            return;
          }
          const bool same = client::ResourceVersionOf(*after) == version;
          WriteStatus(manifest, same ? "unchanged" : "configured", std::move(done));
        });
      });
}

void ManifestWriter::WriteStatus(const Manifest& manifest, std::string outcome, OneDone done) {
  const bool has_status =
      !manifest.object["status"].empty() && manifest.kind->FindSubresource("status") != nullptr;
  if (!has_status) {
    done(std::move(outcome));
    return;
  }
  client::Request request = client::PatchRequest(
      manifest.resource, client::NamespaceOf(manifest.object), client::NameOf(manifest.object),
      client::PatchType::kMerge,
      Value::Object({{"status", WithServerUids(manifest.object["status"])}}), "status");
  client_.Call(std::move(request), [alive = std::weak_ptr(alive_), outcome = std::move(outcome),
                                    done = std::move(done)](const Result<Value>& answer) mutable {
    if (alive.expired()) return;
    if (answer) {
      done(std::move(outcome));
    } else {
      done(std::unexpected(answer.error()));
    }
  });
}

void ManifestWriter::Write(std::vector<Manifest> manifests, std::function<void(Status)> done) {
  std::ranges::stable_sort(manifests, {}, RankOf);
  auto run = std::make_shared<Run>(Run{.manifests = std::move(manifests), .done = std::move(done)});
  Next(run);
}

void ManifestWriter::Next(const std::shared_ptr<Run>& run) {
  if (run->next == run->manifests.size()) {
    run->done(run->first_error);
    return;
  }
  const Manifest& manifest = run->manifests[run->next++];
  EnsureNamespace(manifest, [this, run, &manifest](const Status& status) {
    if (!status) {
      report_(manifest, std::unexpected(status.error()));
      if (run->first_error) run->first_error = status;
      Next(run);
      return;
    }
    WriteOne(manifest, [this, run, &manifest](const Result<std::string>& outcome) {
      report_(manifest, outcome);
      if (!outcome && run->first_error) run->first_error = std::unexpected(outcome.error());
      Next(run);
    });
  });
}

void ManifestWriter::WriteTogether(std::vector<Manifest> manifests,
                                   std::function<void(Status)> done) {
  auto run = std::make_shared<Run>(Run{.manifests = std::move(manifests), .done = std::move(done)});
  run->waiting = run->manifests.size();
  if (run->manifests.empty()) {
    run->done({});
    return;
  }
  for (const Manifest& manifest : run->manifests) EnsureNamespace(manifest, [](const Status&) {});
  for (const Manifest& manifest : run->manifests) {
    WriteOne(manifest, [this, run, &manifest](const Result<std::string>& outcome) {
      report_(manifest, outcome);
      if (!outcome && run->first_error) run->first_error = std::unexpected(outcome.error());
      if (--run->waiting == 0) run->done(run->first_error);
    });
  }
}

}  // namespace drachma::cluster
