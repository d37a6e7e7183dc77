#include "gpu/host_tool.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

extern char** environ;

namespace drachma::gpu {
namespace {

// The last words of a tool that failed are shown up to this length.
constexpr std::size_t kWordsMax = 400;

// A pipe whose ends are closed when it goes.
class Pipe {
 public:
  Pipe() {
    if (pipe(ends_) != 0) ends_[0] = ends_[1] = -1;
  }
  ~Pipe() {
    CloseRead();
    CloseWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int read_end() const { return ends_[0]; }
  [[nodiscard]] int write_end() const { return ends_[1]; }
  void CloseRead() { Close(ends_[0]); }
  void CloseWrite() { Close(ends_[1]); }

 private:
  static void Close(int& end) {
    if (end >= 0) close(std::exchange(end, -1));
  }
  int ends_[2];
};

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t size = read(file, buffer, sizeof(buffer));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(size));
  }
}

}  // namespace

Result<std::string> RunTool(const std::vector<std::string>& command, const std::string& input,
                            const std::map<std::string, std::string>& environment) {
  Pipe in;
  Pipe out;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read_end(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write_end(), STDERR_FILENO);
  for (const int end : {in.read_end(), in.write_end(), out.read_end(), out.write_end()}) {
    posix_spawn_file_actions_addclose(&actions, end);
  }
  std::vector<std::string> arguments = command;
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) variables.emplace_back(*entry);
  for (const auto& [name, value] : environment) variables.push_back(name + '=' + value);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, arguments[0].c_str(), &actions, nullptr,
                                   Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    return Fail(Code::kNotFound,
                fmt::format("cannot run {}: {}", command[0],
                            std::error_code(failure, std::generic_category()).message()));
  }
  in.CloseRead();
  out.CloseWrite();
  // Inputs are a few lines and fit into the pipe. A tool that does not read them is no reason to
  // end this program.
  const auto old = std::signal(SIGPIPE, SIG_IGN);
  const bool written =
      write(in.write_end(), input.data(), input.size()) == static_cast<ssize_t>(input.size());
  std::signal(SIGPIPE, old);
  in.CloseWrite();
  std::string text = ReadAll(out.read_end());
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!written || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Fail(Code::kUnavailable,
                fmt::format("{} failed: {}", command[0],
                            text.substr(text.size() - std::min(text.size(), kWordsMax))));
  }
  return text;
}

}  // namespace drachma::gpu
