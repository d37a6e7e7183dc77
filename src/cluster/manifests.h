#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/kinds.h"
#include "base/result.h"
#include "client/client.h"
#include "json/value.h"

namespace drachma::cluster {

// An object of a file.
struct Manifest {
  std::string file;
  int line = 0;  // where it begins
  json::Value object;
  const api::KindInfo* kind = nullptr;
  client::Resource resource;  // in the object's version
  // Files say how things shall be; what this program brings along is only where users begin.
  enum class IfThere : std::uint8_t { kMerge, kKeep };
  IfThere if_there = IfThere::kMerge;
  // What was read, but not as its author will have meant it: "file:line: key "a" …".
  std::vector<std::string> warnings = {};

  // "file:line: Kind/name".
  [[nodiscard]] std::string Place() const;
  [[nodiscard]] bool Is(std::string_view group, std::string_view kind_name) const;
};

// The files that an argument stands for: a folder's .yaml, .yml and .json files by name, or the
// argument itself.
[[nodiscard]] std::vector<std::string> FilesOf(const std::string& path);

// The objects of files (YAML or JSON; "-" is standard input; a folder stands for its .yaml, .yml
// and .json files by name), in order. A List, a typed list (PodList) or a list that does not say
// its kind stands for its items. Kinds are Kubernetes' own and those of the drivers.
// ERRORS: kNotFound: a file that cannot be read, a folder without any; kInvalid: with file and
// line, and where files hold no object at all.
[[nodiscard]] Result<std::vector<Manifest>> LoadManifests(const std::vector<std::string>& files);
// The same of one text.
[[nodiscard]] Result<std::vector<Manifest>> ParseManifests(std::string_view text,
                                                           const std::string& file);

// What the drivers of simulated nodes bring along: their DeviceClasses and the definitions of their
// kinds. They give way to objects that are there.
[[nodiscard]] Result<std::vector<Manifest>> DriverManifests();

// Whether a manifest is part of the world as it is, rather than work for the control plane to
// begin: everything but workloads and pods that are not bound to a node. What has a uid comes from
// a cluster and is always part of it.
[[nodiscard]] bool IsGiven(const Manifest& manifest);

// Makes objects that were dumped from a cluster, perhaps in part, the beginning of another one:
// owners that are not among them are forgotten (their objects would be collected as garbage), and
// quotas are used by what is written, not by what they counted there.
void BeginAnew(std::vector<Manifest>& manifests);

// Writes manifests to an API server one after the other, owners first: makes what is missing,
// merges into what is there, and writes what files say of status, too. uids of the files are
// replaced by those that the server gave, wherever they stand. Belongs to the client's executor.
class ManifestWriter {
 public:
  // Called once for each manifest: "created", "configured" or "unchanged", or its error.
  using Report = std::function<void(const Manifest&, const Result<std::string>& outcome)>;

  // A kind whose definition has just been written is served a moment later: tries, and the time
  // between two.
  static constexpr int kTriesMax = 100;
  static constexpr Duration kRetry = std::chrono::milliseconds(50);

  // `client` must outlive the writer.
  ManifestWriter(client::Client& client, Report report);

  // Writes `manifests`; `done` gets the first error. One call at a time.
  void Write(std::vector<Manifest> manifests, std::function<void(Status)> done);
  // Sends all creations at once, in order, without waiting for answers: what is new arrives
  // together.
  void WriteTogether(std::vector<Manifest> manifests, std::function<void(Status)> done);

 private:
  struct Run;
  using OneDone = std::move_only_function<void(Result<std::string>)>;

  void Next(const std::shared_ptr<Run>& run);
  void WriteOne(const Manifest& manifest, OneDone done, int tries = 1);
  void WriteStatus(const Manifest& manifest, std::string outcome, OneDone done);
  void Merge(const Manifest& manifest, OneDone done);
  void EnsureNamespace(const Manifest& manifest, std::function<void(Status)> done);
  void NoteUid(const Manifest& manifest, const json::Value& answer);
  [[nodiscard]] json::Value WithServerUids(const json::Value& value) const;

  client::Client& client_;
  const Report report_;
  std::map<std::string, std::string, std::less<>> uids_;  // of files -> of the server
  // Namespaces that need not be made; files may use others without holding them.
  std::set<std::string, std::less<>> namespaces_ = {"default", "kube-system", "kube-public",
                                                    "kube-node-lease"};
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace drachma::cluster
