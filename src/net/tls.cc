#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/check.h"
#include "net/http_server.h"
#include "net/openssl.h"

namespace drachma::net {
namespace {

constexpr unsigned char kAlpnContext[] = "drachma";
constexpr std::string_view kHttp11 = "http/1.1";

std::unexpected<Error> TlsError(const std::string& what) {
  return Fail(Code::kInvalid, what + ": " + OpenSslError());
}

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  std::string_view rest(reinterpret_cast<const char*>(offered), offered_size);
  while (!rest.empty()) {
    const std::size_t size = static_cast<unsigned char>(rest[0]);
    const std::string_view protocol = rest.substr(1, size);
    if (protocol == kHttp11) {
      *chosen = reinterpret_cast<const unsigned char*>(protocol.data());
      *chosen_size = static_cast<unsigned char>(size);
      return SSL_TLSEXT_ERR_OK;
    }
    rest.remove_prefix(std::min(rest.size(), size + 1));
  }
  return SSL_TLSEXT_ERR_NOACK;
}

// A certificate that does not verify is told to the handler, which answers 401 as upstream does,
// instead of breaking the handshake.
int AcceptAnyCertificate(int, X509_STORE_CTX*) { return 1; }

Status AddChain(SSL_CTX* context, const std::string& pem) {
  const BioPtr bio = ReadBio(pem);
  const X509Ptr own(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  // Has its extensions read now rather than by the first two handshakes at once.
  if (own != nullptr) X509_check_purpose(own.get(), -1, 0);
  if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) {
    return TlsError("cannot use the server certificate");
  }
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    SSL_CTX_add0_chain_cert(context, next);
  }
  ERR_clear_error();  // the end of the text counts as one
  return {};
}

Status AddClientAuthorities(SSL_CTX* context, const std::string& pem) {
  const BioPtr bio = ReadBio(pem);
  int count = 0;
  while (X509* next = PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)) {
    const X509Ptr authority(next);
    X509_check_purpose(authority.get(), -1, 0);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get());
    SSL_CTX_add_client_CA(context, authority.get());
    ++count;
  }
  if (count == 0) return TlsError("cannot use the client authority's certificate");
  ERR_clear_error();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, AcceptAnyCertificate);
  return {};
}

// The records that OpenSSL makes in one call on this thread, until they are sent.
std::string& Records() {
  static thread_local std::string records;
  return records;
}

int AddRecord(BIO*, const char* bytes, int size) {
  Records().append(bytes, static_cast<std::size_t>(size));
  return size;
}

long ControlRecords(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

// Writes to Records(), always all.
BIO* NewRecordsBio() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "records");
    BIO_meth_set_write(made, AddRecord);
    BIO_meth_set_ctrl(made, ControlRecords);
    return made;
  }();
  BIO* bio = BIO_new(method);
  DRA_CHECK(bio != nullptr);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace

std::string OpenSslError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "unknown reason";
  const char* reason = ERR_reason_error_string(code);
  return reason != nullptr ? reason : "error " + std::to_string(code);
}

void TlsContext::Free::operator()(SSL_CTX* context) const { SSL_CTX_free(context); }

Result<std::shared_ptr<TlsContext>> TlsContext::Make(const TlsServerOptions& options) {
  auto result = std::make_shared<TlsContext>();
  result->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = result->context_.get();
  if (context == nullptr) return TlsError("cannot use TLS");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // No resumption: a session that is resumed would keep an identity whose certificate may have
  // expired since.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_session_id_context(context, kAlpnContext, sizeof(kAlpnContext) - 1);
  SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS |
                                SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  DRA_TRY(AddChain(context, options.certificate_pem));
  const BioPtr bio = ReadBio(options.key_pem);
  const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  if (key == nullptr || SSL_CTX_use_PrivateKey(context, key.get()) != 1) {
    return TlsError("cannot use the server key");
  }
  if (SSL_CTX_check_private_key(context) != 1) {
    return TlsError("the server's key and certificate do not fit");
  }
  if (!options.client_ca_pem.empty()) {
    DRA_TRY(AddClientAuthorities(context, options.client_ca_pem));
  }
  return result;
}

void Transport::Free::operator()(SSL* ssl) const { SSL_free(ssl); }

Transport::Transport(int file, const TlsContext* tls) : file_(file) {
  if (tls == nullptr) return;
  ssl_.reset(SSL_new(tls->context_.get()));
  SSL_set_bio(ssl_.get(), BIO_new_socket(file, BIO_NOCLOSE), NewRecordsBio());
  SSL_set_accept_state(ssl_.get());
}

Transport::~Transport() { close(file_); }

Transport::Outcome Transport::OutcomeOf(int result) const {
  const int error = SSL_get_error(ssl_.get(), result);
  ERR_clear_error();
  switch (error) {
    case SSL_ERROR_WANT_READ:
      return Outcome::kWantRead;
    case SSL_ERROR_WANT_WRITE:
      return Outcome::kWantWrite;
    case SSL_ERROR_ZERO_RETURN:
      return Outcome::kEnd;
    default:
      return Outcome::kError;
  }
}

Transport::Outcome Transport::Handshake() {
  if (ssl_ == nullptr) return Outcome::kOk;
  if (const Outcome sent = SendUnsent(); sent != Outcome::kOk) return sent;
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_.get());
  const Outcome outcome = result == 1 ? Outcome::kOk : OutcomeOf(result);
  if (SendRecords() == Outcome::kError) return Outcome::kError;
  return HasUnsent() && outcome != Outcome::kError ? Outcome::kWantWrite : outcome;
}

Transport::Io Transport::Read(char* buffer, std::size_t size) {
  if (ssl_ != nullptr) {
    ERR_clear_error();
    std::size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), buffer, size, &bytes);
    const Io io = result == 1 ? Io{Outcome::kOk, bytes} : Io{OutcomeOf(result)};
    return SendRecords() == Outcome::kError ? Io{Outcome::kError} : io;
  }
  const ssize_t got = recv(file_, buffer, size, 0);
  if (got > 0) return {Outcome::kOk, static_cast<std::size_t>(got)};
  if (got == 0) return {Outcome::kEnd};
  return {errno == EAGAIN || errno == EINTR ? Outcome::kWantRead : Outcome::kError};
}

Transport::Io Transport::Write(std::string_view bytes) {
  if (ssl_ == nullptr) return Send(bytes);
  if (const Outcome sent = SendUnsent(); sent != Outcome::kOk) return {sent};
  if (bytes.empty()) return {};
  ERR_clear_error();
  std::size_t written = 0;
  const int result = SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written);
  const Io io = result == 1 ? Io{Outcome::kOk, written} : Io{OutcomeOf(result)};
  return SendRecords() == Outcome::kError ? Io{Outcome::kError} : io;
}

Transport::Outcome Transport::SendUnsent() {
  if (unsent_.empty()) return Outcome::kOk;
  while (!unsent_.empty()) {
    const Io io = Send(unsent_);
    if (io.outcome != Outcome::kOk) return io.outcome;
    unsent_.erase(0, io.bytes);
  }
  std::string().swap(unsent_);  // a thousand idle watches hold no buffers
  return Outcome::kOk;
}

Transport::Outcome Transport::SendRecords() {
  std::string& records = Records();
  std::string_view rest = records;
  Io io;
  while (!rest.empty() && unsent_.empty() && io.outcome == Outcome::kOk) {
    io = Send(rest);
    rest.remove_prefix(io.bytes);
  }
  unsent_ += rest;
  records.clear();
  return io.outcome == Outcome::kError ? Outcome::kError : Outcome::kOk;
}

Transport::Io Transport::Send(std::string_view bytes) {
  const ssize_t sent = send(file_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent > 0) return {Outcome::kOk, static_cast<std::size_t>(sent)};
  return {errno == EAGAIN || errno == EINTR ? Outcome::kWantWrite : Outcome::kError};
}

void Transport::CloseWrite() {
  if (ssl_ != nullptr && SSL_is_init_finished(ssl_.get()) != 0) {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    ERR_clear_error();
    SendRecords();
  }
  shutdown(file_, SHUT_WR);
}

std::optional<PeerIdentity> Transport::Identity() const {
  if (ssl_ == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK) return std::nullopt;
  const X509* certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return std::nullopt;
  PeerIdentity identity;
  const auto names = SubjectFields(certificate, NID_commonName);
  if (!names.empty()) identity.common_name = names.back();
  identity.organizations = SubjectFields(certificate, NID_organizationName);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  X509_digest(certificate, EVP_sha256(), digest, &size);
  static constexpr char kDigits[] = "0123456789abcdef";
  for (unsigned int i = 0; i < size; ++i) {
    identity.fingerprint += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  }
  return identity;
}

std::string Transport::CertificateError() const {
  if (ssl_ == nullptr || SSL_get0_peer_certificate(ssl_.get()) == nullptr) return {};
  const long result = SSL_get_verify_result(ssl_.get());
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

}  // namespace drachma::net
