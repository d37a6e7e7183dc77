// A comparison with upstream's package for selectors: compile messages, match, run-time errors and
// both costs must be the same. CEL_UPSTREAM is the command that answers for upstream (celgo-standin
// of tests/upstream/cel); without it, where there is no Go, nothing is compared.
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/debug_cel.h"
#include "json/json.h"
#include "json/utf8.h"

namespace {

using drachma::json::Value;

// The process of upstream's side, asked over a pair of sockets.
class Upstream {
 public:
  explicit Upstream(const char* command) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) std::abort();
    if (fork() == 0) {
      dup2(sockets[1], STDIN_FILENO);
      dup2(sockets[1], STDOUT_FILENO);
      close(sockets[0]);
      close(sockets[1]);
      execl(command, command, nullptr);
      _exit(127);
    }
    close(sockets[1]);
    in_ = fdopen(sockets[0], "r");
    out_ = fdopen(dup(sockets[0]), "w");
  }

  std::string Ask(const std::string& line) {
    std::fputs((line + "\n").c_str(), out_);
    std::fflush(out_);
    std::string answer;
    for (int c = 0; (c = std::fgetc(in_)) != '\n';) {
      if (c == EOF) return {};
      answer += static_cast<char>(c);
    }
    return answer;
  }

 private:
  std::FILE* in_ = nullptr;
  std::FILE* out_ = nullptr;
};

// Type variables are numbered as they come, which is another order in each run of upstream's.
Value Normal(const std::string& answer) {
  static const std::regex kVariable("_var[0-9]+");
  const bool numbered = answer.find("_var") != std::string::npos;
  const auto value =
      drachma::json::Read(numbered ? std::regex_replace(answer, kVariable, "_var") : answer);
  return value ? *value : Value(answer);
}

std::string Request(std::string_view expression) {
  static const Value* const kDevice = new Value(*drachma::json::Read(R"({"driver":"gpu.example.com",
    "attributes":{"model":{"string":"a100"},"idx":{"int":3},"ok":{"bool":true},
    "ver":{"version":"1.2.3"},"ints":{"ints":[1,2,3]},"other.com/x":{"strings":["p","q"]}},
    "capacity":{"memory":{"value":"40Gi"}}})"));
  return drachma::json::Write(Value::Object({{"op", "selector"},
                                             {"expr", expression},
                                             {"features", Value::Array({"DRAListTypeAttributes"})},
                                             {"env", "stored"},
                                             {"device", *kDevice}}));
}

// Where Go's code panics there is nothing to compare; messages of protocol buffers are left out.
bool Comparable(std::string_view upstream, std::string_view expression) {
  return !upstream.contains("internal error: ") && !upstream.contains("\"panic: ") &&
         !expression.contains("google.protobuf");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kBytesMax = 400;  // so that nothing takes upstream long
  constexpr int kTries = 1000;            // Go visits maps in another order each time
  static const char* const kCommand = std::getenv("CEL_UPSTREAM");
  if (kCommand == nullptr || size > kBytesMax) return 0;
  static Upstream* const kUpstream = new Upstream(kCommand);
  const std::string expression(reinterpret_cast<const char*>(data), size);
  if (!drachma::json::IsValidUtf8(expression)) return 0;
  const std::string request = Request(expression);
  std::istringstream in(request);
  std::ostringstream out;
  drachma::cli::RunDebugCel(in, out);
  const Value ours = Normal(out.str());
  std::string answer;
  for (int i = 0; i < kTries; ++i) {
    answer = kUpstream->Ask(request);
    if (Normal(answer) == ours || !Comparable(answer, expression)) return 0;
  }
  std::fprintf(stderr, "expression %s\nupstream   %s\nhere       %s\n", expression.c_str(),
               answer.c_str(), out.str().c_str());
  __builtin_trap();
}
