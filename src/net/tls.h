#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

struct ssl_ctx_st;
struct ssl_st;

namespace drachma::net {

struct TlsServerOptions;

// What the last failed OpenSSL call says; clears its queue of errors.
std::string OpenSslError();

// The settings of a TLS server, shared by its connections. Immutable, any thread.
class TlsContext {
 public:
  // ERRORS: kInvalid for certificates or keys that cannot be read or do not fit.
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> Make(const TlsServerOptions& options);

 private:
  friend class Transport;
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// The bytes of one connection, with or without TLS. Owns the (non-blocking) descriptor.
//
// TLS makes records of 16 KB; those of one call go to the kernel together, which takes a part of
// the time that one call for each would. What the kernel does not take is kept: see HasUnsent().
class Transport {
 public:
  enum class Outcome { kOk, kWantRead, kWantWrite, kEnd, kError };
  struct Io {
    Outcome outcome = Outcome::kOk;
    std::size_t bytes = 0;  // with kOk more than 0, unless none were given
  };

  // `tls` null: plain.
  Transport(int file, const TlsContext* tls);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  [[nodiscard]] int file() const { return file_; }
  [[nodiscard]] bool tls() const { return ssl_ != nullptr; }
  // kOk when done; at once without TLS.
  Outcome Handshake();
  Io Read(char* buffer, std::size_t size);
  // Sends what is unsent, then `bytes` (may be empty). May be repeated after kWantRead or
  // kWantWrite with the same bytes or more.
  Io Write(std::string_view bytes);
  // Whether bytes that were written wait for the peer: Write() again when it takes more.
  [[nodiscard]] bool HasUnsent() const { return !unsent_.empty(); }
  // Says that nothing more will be written, as far as that goes without waiting.
  void CloseWrite();

  // After the handshake: the verified client certificate, or why the one sent is not accepted.
  [[nodiscard]] std::optional<PeerIdentity> Identity() const;
  [[nodiscard]] std::string CertificateError() const;

 private:
  struct Free {
    void operator()(ssl_st* ssl) const;
  };
  [[nodiscard]] Outcome OutcomeOf(int result) const;
  Io Send(std::string_view bytes);
  // Sends what is unsent; kOk when all is.
  Outcome SendUnsent();
  // Sends the records that the last call of OpenSSL has made. ERRORS: kError.
  Outcome SendRecords();

  const int file_;
  std::unique_ptr<ssl_st, Free> ssl_;
  std::string unsent_;  // records
};

}  // namespace drachma::net
