#pragma once

#include <string>

#include "base/result.h"

namespace drachma::net {

// A socket that listens. Closes it, and removes the file of a unix socket, at its end.
class Listener {
 public:
  // `address` as in ServerOptions::listen. ERRORS: kInvalid, kUnavailable.
  [[nodiscard]] static Result<Listener> Open(const std::string& address);
  ~Listener();
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;

  [[nodiscard]] int file() const { return file_; }
  // With the port that was taken.
  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] int port() const { return port_; }  // 0 for a unix socket
  [[nodiscard]] bool is_unix() const { return port_ == 0; }

  // The next connection, not blocking, and who it is from; -1 with errno when there is none.
  [[nodiscard]] int Accept(std::string& peer) const;

 private:
  Listener() = default;
  static Result<Listener> OpenUnix(const std::string& path);
  static Result<Listener> OpenTcp(const std::string& host, const std::string& port);

  int file_ = -1;
  std::string address_;
  std::string unix_path_;
  int port_ = 0;
};

}  // namespace drachma::net
