#include "net/connection.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/check.h"

namespace drachma::net {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
// Taken from one connection before others have their turn.
constexpr int kReadsPerTurn = 16;
constexpr int kWritesPerTurn = 16;
// Sent at once: several records of TLS.
constexpr std::size_t kWriteBytes = 64 * 1024;
// Requests that were sent ahead wait in the kernel beyond this.
constexpr std::size_t kPipelineBytesMax = 64 * 1024;
// A peer that was refused may send so much more before it is cut off; were it cut off at once, its
// kernel would throw our answer away.
constexpr std::size_t kDiscardBytesMax = 4 * 1024 * 1024;
constexpr Duration kClosingTimeout = std::chrono::seconds(2);

constexpr std::string_view kContinueLine = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

bool HasBody(int status) { return status >= 200 && status != 204 && status != 304; }

// Line ends in a field would let its writer forge a response.
void AppendField(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char c : value) {
    if (c != '\r' && c != '\n' && c != '\0') head += c;
  }
  head += "\r\n";
}

std::string DateText(Time now) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::time_point_cast<std::chrono::system_clock::duration>(now));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t size = std::strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text, size};
}

HttpResponse PlainError(int status, const std::string& message) {
  return {.status = status,
          .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
          .body = {Share(message + "\n")}};
}

}  // namespace

Connection::Connection(std::shared_ptr<ServerShared> server, std::shared_ptr<EventLoop> loop,
                       int file, bool tls, std::string peer)
    : server_(std::move(server)),
      loop_(std::move(loop)),
      transport_(file, tls ? server_->tls.get() : nullptr),
      peer_(std::move(peer)) {
  ++server_->connections;
}

Connection::~Connection() {
  if (exchange_ != nullptr) {
    exchange_->Close();
    exchange_->Complete();
    --server_->requests_in_flight;
  }
  --server_->connections;
}

void Connection::Start() {
  interest_ = EPOLLIN | EPOLLRDHUP;
  id_ = loop_->Add(transport_.file(), interest_, shared_from_this());
  Enter(State::kHandshake, server_->options.limits.handshake_timeout);
  ContinueHandshake();
  if (state_ != State::kClosed) UpdateInterest();
}

void Connection::Enter(State state, Duration timeout) {
  state_ = state;
  deadline_ = timeout == Duration::max() ? timeout : Now() + timeout;
}

void Connection::OnEvents(std::uint32_t events) {
  if (state_ == State::kHandshake) {
    ContinueHandshake();
  } else {
    if ((events & EPOLLOUT) != 0 || (write_wants_read_ && (events & EPOLLIN) != 0)) WriteMore();
    const bool readable = (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
    if (readable || (read_wants_write_ && (events & EPOLLOUT) != 0)) ReadMore();
    // A peer that has gone both ways, while we do not read because enough is waiting.
    if (state_ != State::kClosed && (events & (EPOLLHUP | EPOLLERR)) != 0) CloseNow();
  }
  if (state_ != State::kClosed) UpdateInterest();
}

void Connection::ContinueHandshake() {
  switch (transport_.Handshake()) {
    case Transport::Outcome::kOk:
      identity_ = transport_.Identity();
      if (!identity_) certificate_error_ = transport_.CertificateError();
      read_wants_write_ = false;
      Enter(State::kIdle, server_->options.limits.header_timeout);
      ReadMore();
      return;
    case Transport::Outcome::kWantRead:
      read_wants_write_ = false;
      return;
    case Transport::Outcome::kWantWrite:
      read_wants_write_ = true;
      return;
    default:
      CloseNow();
  }
}

void Connection::ReadMore() {
  std::array<char, kReadBytes> buffer;
  for (int reads = 0; reads < kReadsPerTurn && state_ != State::kClosed; ++reads) {
    // While a request is handled only the end of the peer is of interest, and a little of what
    // it sends ahead.
    if (state_ == State::kHandling && input_.size() >= kPipelineBytesMax) return;
    if (peer_ended_) return;
    const Transport::Io io = transport_.Read(buffer.data(), buffer.size());
    read_wants_write_ = io.outcome == Transport::Outcome::kWantWrite;
    switch (io.outcome) {
      case Transport::Outcome::kOk:
        if (state_ == State::kClosing) {
          discarded_ += io.bytes;
          if (discarded_ > kDiscardBytesMax) CloseNow();
          break;
        }
        input_.append(buffer.data(), io.bytes);
        if (state_ != State::kHandling) ParseMore();
        break;
      case Transport::Outcome::kWantRead:
      case Transport::Outcome::kWantWrite:
        return;
      case Transport::Outcome::kEnd:
        PeerEnded();
        return;
      case Transport::Outcome::kError:
        CloseNow();
        return;
    }
  }
  // TLS may hold bytes that the descriptor does not show any more.
  if (state_ != State::kClosed && transport_.tls()) {
    loop_->Post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self == nullptr || self->state_ == State::kClosed) return;
      self->ReadMore();
      if (self->state_ != State::kClosed) self->UpdateInterest();
    });
  }
}

void Connection::ParseMore() {
  const ServerLimits& limits = server_->options.limits;
  while (!input_.empty() && (state_ == State::kIdle || state_ == State::kReading)) {
    if (state_ == State::kIdle) {
      parser_ = std::make_unique<RequestParser>(limits);
      continue_sent_ = false;
      Enter(State::kReading, limits.header_timeout);
    }
    const bool had_header = parser_->header_done();
    std::size_t consumed = 0;
    const RequestParser::Step step = parser_->Feed(input_, consumed);
    input_.erase(0, consumed);
    if (step == RequestParser::Step::kRefused) {
      Refuse(parser_->status(), parser_->message());
      return;
    }
    if (step == RequestParser::Step::kComplete) {
      Dispatch();
      return;
    }
    if (!had_header && parser_->header_done()) Enter(State::kReading, limits.body_timeout);
    if (parser_->header_done() && parser_->expects_continue() && !continue_sent_) {
      continue_sent_ = true;
      Queue(Slice::OfStatic(kContinueLine));
      WriteMore();
    }
    // What is left is part of a line that has not come in full.
    if (input_.size() > limits.header_bytes_max + kReadBytes) {
      Refuse(400, "malformed HTTP request: a line is too long");
    }
    return;
  }
}

void Connection::Dispatch() {
  HttpRequest request = parser_->Take();
  request.identity = identity_;
  request.certificate_error = certificate_error_;
  request.peer = peer_;
  request.tls = transport_.tls();
  is_head_ = request.method == "HEAD";
  is_http11_ = parser_->is_http11();
  keep_alive_ = parser_->keep_alive();
  parser_.reset();
  if (input_.empty()) std::string().swap(input_);  // a thousand idle watches hold no buffers
  streaming_ = false;
  response_queued_ = false;
  ++server_->requests;
  ++server_->requests_in_flight;
  Enter(State::kHandling, Duration::max());
  exchange_ = std::make_shared<Exchange>(loop_, server_->options.limits.stream_queue_bytes_max,
                                         server_->slow_streams);
  exchange_->SetProgressCallback([weak = weak_from_this(), exchange = exchange_.get()] {
    const auto self = weak.lock();
    if (self != nullptr && self->exchange_.get() == exchange) self->OnProgress(self->exchange_);
  });
  server_->handler(std::move(request), MakeResponder(exchange_));
}

void Connection::Refuse(int status, const std::string& message) {
  const auto& make = server_->options.error_response;
  is_head_ = false;
  is_http11_ = true;
  keep_alive_ = false;
  SendHead(make ? make(status, message) : PlainError(status, message), /*is_stream=*/false);
  BeginClosing();
}

void Connection::OnProgress(const std::shared_ptr<Exchange>& exchange) {
  Exchange::Progress progress = exchange->Collect();
  if (state_ != State::kHandling) return;
  if (exchange->overflowed()) {
    exchange->Close();
    CloseNow();
    return;
  }
  if (progress.head) {
    if (progress.abandoned && !progress.is_stream) {
      const auto& make = server_->options.error_response;
      const std::string message = "the request was given up";
      progress.head = make ? make(500, message) : PlainError(500, message);
      progress.abandoned = false;
    }
    streaming_ = progress.is_stream;
    SendHead(*std::move(progress.head), progress.is_stream);
    if (progress.is_stream && server_->draining) Drain();
  }
  const bool chunked = streaming_ && is_http11_;
  for (const Chunk& chunk : progress.chunks) {
    if (is_head_) {
      exchange->Sent(chunk.size());
    } else if (chunked) {
      Queue(chunk.framed(), chunk.size());
    } else {
      Queue(Share(std::string(chunk.text())), chunk.size());
    }
  }
  if (progress.finished) {
    if (progress.abandoned) {
      break_off_ = true;
      keep_alive_ = false;
    } else if (chunked && !is_head_) {
      Queue(Slice::OfStatic(kLastChunk));
    }
    response_queued_ = true;
  }
  WriteMore();
  if (state_ != State::kClosed) UpdateInterest();
}

void Connection::SendHead(HttpResponse response, bool is_stream) {
  if (server_->draining) keep_alive_ = false;
  if (is_stream && !is_http11_) keep_alive_ = false;  // the end of the connection is the end
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, StatusText(response.status));
  for (const auto& [name, value] : response.headers.fields()) AppendField(head, name, value);
  AppendField(head, "Date", DateText(server_->clock->Now()));
  const bool has_body = HasBody(response.status);
  if (is_stream) {
    if (is_http11_) AppendField(head, "Transfer-Encoding", "chunked");
  } else if (has_body) {
    AppendField(head, "Content-Length", std::to_string(SizeOf(response.body)));
  }
  if (!keep_alive_) {
    AppendField(head, "Connection", "close");
  } else if (!is_http11_) {
    AppendField(head, "Connection", "keep-alive");
  }
  head += "\r\n";
  Queue(Share(std::move(head)));
  if (!has_body || is_head_) return;
  for (Slice& part : response.body) Queue(std::move(part));
}

void Connection::Queue(Slice bytes, std::size_t stream_bytes) {
  if (bytes.size() == 0) return;
  if (AllSent()) write_deadline_ = Now() + server_->options.limits.write_timeout;
  output_.push_back({std::move(bytes), stream_bytes});
}

void Connection::WriteMore() {
  if (state_ == State::kClosed) return;
  static thread_local std::string scratch;
  for (int writes = 0; writes < kWritesPerTurn && !AllSent(); ++writes) {
    if (!WriteOnce(scratch)) break;
  }
  if (state_ == State::kClosed || !AllSent()) return;
  write_deadline_ = Duration::max();
  if (state_ == State::kHandling && response_queued_) {
    ResponseSent();
  } else if (state_ == State::kHandling && streaming_) {
    exchange_->Drained();
  } else if (state_ == State::kClosing) {
    transport_.CloseWrite();
    if (peer_ended_) CloseNow();
  }
}

bool Connection::WriteOnce(std::string& scratch) {
  std::string_view bytes;
  if (!output_.empty()) {
    bytes = output_.front().bytes.text().substr(output_offset_, kWriteBytes);
    if (bytes.size() < kWriteBytes && output_.size() > 1) {
      // Small pieces go out together: one packet, one TLS record.
      scratch.assign(bytes);
      for (auto next = output_.begin() + 1; next != output_.end() && scratch.size() < kWriteBytes;
           ++next) {
        scratch.append(next->bytes.text(), 0, kWriteBytes - scratch.size());
      }
      bytes = scratch;
    }
  }
  const Transport::Io io = transport_.Write(bytes);
  write_wants_read_ = io.outcome == Transport::Outcome::kWantRead;
  if (io.outcome == Transport::Outcome::kError || io.outcome == Transport::Outcome::kEnd) {
    CloseNow();
    return false;
  }
  if (io.outcome != Transport::Outcome::kOk) return false;
  write_deadline_ = Now() + server_->options.limits.write_timeout;
  output_offset_ += io.bytes;
  while (!output_.empty() && output_offset_ >= output_.front().bytes.size()) {
    output_offset_ -= output_.front().bytes.size();
    if (output_.front().stream_bytes != 0) exchange_->Sent(output_.front().stream_bytes);
    output_.pop_front();
  }
  return true;
}

void Connection::ResponseSent() {
  exchange_->Complete();
  exchange_.reset();
  --server_->requests_in_flight;
  if (break_off_) {
    CloseNow();
    return;
  }
  if (!keep_alive_ || peer_ended_ || server_->draining) {
    transport_.CloseWrite();
    CloseNow();
    return;
  }
  Enter(State::kIdle, server_->options.limits.idle_timeout);
  if (input_.empty()) return;
  // Requests that were sent ahead. Not from here: a thousand of them would nest.
  loop_->Post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr || self->state_ != State::kIdle) return;
    self->ParseMore();
    // What TLS holds already does not show at the descriptor.
    if (self->state_ == State::kIdle || self->state_ == State::kReading) self->ReadMore();
    if (self->state_ != State::kClosed) self->UpdateInterest();
  });
}

void Connection::PeerEnded() {
  peer_ended_ = true;
  if (state_ == State::kClosing && !AllSent()) return;
  if (state_ != State::kHandling || streaming_) {
    CloseNow();
    return;
  }
  // It may only have said all it has to say; the answer is still sent.
  exchange_->Close();
}

void Connection::BeginClosing() {
  Enter(State::kClosing, kClosingTimeout);
  input_.clear();
  WriteMore();
}

void Connection::CloseNow() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();  // the loop's reference goes
  state_ = State::kClosed;
  deadline_ = write_deadline_ = Duration::max();
  loop_->Remove(id_, transport_.file());
  output_.clear();
  if (exchange_ != nullptr) {
    const auto exchange = std::exchange(exchange_, nullptr);
    --server_->requests_in_flight;
    exchange->Close();
    exchange->Complete();
  }
}

void Connection::UpdateInterest() {
  std::uint32_t wanted = 0;
  const bool reads =
      !peer_ended_ && !(state_ == State::kHandling && input_.size() >= kPipelineBytesMax);
  if (reads || write_wants_read_) wanted |= EPOLLIN;
  if (!peer_ended_) wanted |= EPOLLRDHUP;
  if ((!AllSent() && !write_wants_read_) || read_wants_write_) wanted |= EPOLLOUT;
  if (!reads && !peer_ended_) {
    // Not reading, so an end would be reported over and over; it is noticed on the next read.
    wanted &= ~static_cast<std::uint32_t>(EPOLLRDHUP);
  }
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_->Change(id_, transport_.file(), wanted);
}

void Connection::CheckDeadlines(Duration now) {
  if (now >= write_deadline_) {
    CloseNow();
    return;
  }
  if (now < deadline_) return;
  if (state_ == State::kReading) {
    Refuse(408, "the request did not arrive in time");
    if (state_ != State::kClosed) UpdateInterest();
  } else {
    CloseNow();
  }
}

void Connection::Drain() {
  if (state_ == State::kHandling) {
    if (!streaming_) return;
    if (!exchange_->has_close_callback()) {
      exchange_->Finish();
      return;
    }
    exchange_->Close();
  } else if (state_ != State::kReading && state_ != State::kClosing) {
    CloseNow();
  }
}

void Connection::Abort() { CloseNow(); }

}  // namespace drachma::net
