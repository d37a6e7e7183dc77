#include "bench/system/cold_start.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "bench/system/https_connection.h"
#include "bench/system/process_times.h"
#include "client/kubeconfig.h"

namespace drachma::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::microseconds(500);
constexpr auto kGiveUp = std::chrono::seconds(60);
constexpr auto kIdle = std::chrono::seconds(2);

double Since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// A running `drachma up`, ended with this object.
class Process {
 public:
  Process(const std::string& drachma, const std::string& folder, const std::string& manifest) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    const std::string arguments[] = {drachma,    "up",          "--data-dir", folder,
                                     "--listen", "127.0.0.1:0", "-f",         manifest};
    std::vector<char*> raw;
    for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.data()));
    raw.push_back(nullptr);
    if (posix_spawn(&id_, drachma.c_str(), &actions, nullptr, raw.data(), environ) != 0) id_ = -1;
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Process() {
    if (id_ <= 0) return;
    kill(id_, SIGTERM);
    waitpid(id_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] pid_t id() const { return id_; }

 private:
  pid_t id_ = -1;
};

}  // namespace

Result<ColdStart> MeasureColdStart(const std::string& drachma, const std::string& folder,
                                   const std::string& manifest) {
  const std::string kubeconfig = folder + "/kubeconfig";
  ColdStart measured;
  const auto begin = Clock::now();
  const Process process(drachma, folder, manifest);
  if (process.id() < 0) return Fail(Code::kUnavailable, "cannot start " + drachma);
  while (!std::filesystem::exists(kubeconfig)) {
    if (Clock::now() - begin > kGiveUp) return Fail(Code::kUnavailable, "no kubeconfig appears");
    std::this_thread::sleep_for(kLook);
  }
  measured.kubeconfig = Since(begin);
  DRA_ASSIGN(const client::KubeConfig config,
             client::LoadKubeConfig({.flag = kubeconfig, .environment = {}, .home = {}}));
  DRA_ASSIGN(HttpsConnection connection, HttpsConnection::Open(config));
  DRA_TRY(connection.Stream("/apis/resource.k8s.io/v1/resourceclaims?watch=1&allowWatchBookmarks=0",
                            [](std::string_view line) {
                              return line.find("\"allocation\":") == std::string_view::npos;
                            }));
  measured.allocated = Since(begin);
  std::this_thread::sleep_for(kIdle);
  measured.idle_bytes = ResidentBytes({process.id()});
  measured.idle_cpu = Sum(TimesOf({process.id()}));
  return measured;
}

}  // namespace drachma::bench
