#include <fmt/format.h>

#include <cstdio>
#include <future>
#include <memory>

#include "cli/arguments.h"
#include "cli/check_hint.h"
#include "cli/session.h"
#include "client/objects.h"
#include "cluster/manifests.h"

namespace drachma::cli {
namespace {

std::string NameIn(const cluster::Manifest& manifest) {
  const std::string_view group = manifest.kind->group;
  return fmt::format("{}{}{}/{}", manifest.kind->singular, group.empty() ? "" : ".", group,
                     client::NameOf(manifest.object));
}

}  // namespace

int RunApply(const ApplyArguments& arguments) {
  Result<std::vector<cluster::Manifest>> manifests = cluster::LoadManifests(arguments.files);
  if (!manifests) return PrintManifestError(manifests.error(), arguments.files, kWrongUse);
  Result<std::unique_ptr<Session>> session = Session::Open(arguments.kubeconfig);
  if (!session) return PrintError(session.error());
  std::unique_ptr<cluster::ManifestWriter> writer;
  std::promise<Status> done;
  (*session)->Post([&](client::Client& client) {
    writer = std::make_unique<cluster::ManifestWriter>(
        client, [](const cluster::Manifest& manifest, const Result<std::string>& outcome) {
          if (outcome) {
            Print(fmt::format("{} {}\n", NameIn(manifest), *outcome));
          } else {
            PrintError(
                {.message = fmt::format("{}: {}", manifest.Place(), outcome.error().message)});
          }
        });
    writer->Write(std::move(*manifests), [&](const Status& status) { done.set_value(status); });
  });
  const Status status = done.get_future().get();
  std::promise<void> dropped;
  (*session)->Post([&](client::Client&) {
    writer.reset();
    dropped.set_value();
  });
  dropped.get_future().get();
  if (status) return kFine;
  // The error itself has been told with its object.
  if (const std::string hint = CheckHint(status.error(), arguments.files); !hint.empty()) {
    std::fprintf(stderr, "%s\n", hint.c_str());
  }
  return kNegative;
}

}  // namespace drachma::cli
