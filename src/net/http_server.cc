#include "net/http_server.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <future>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "net/connection.h"
#include "net/listener.h"
#include "net/tls.h"

namespace drachma::net {
namespace {

constexpr int kAcceptsPerTurn = 64;

// Systems allow few open files unless a program asks for more; Go's programs do so, too.
void AllowManyFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// The connections of one I/O thread. Used on that thread only.
class Worker {
 public:
  Worker(std::shared_ptr<ServerShared> server, int number)
      : server_(std::move(server)),
        loop_(std::make_shared<EventLoop>("net-" + std::to_string(number))) {
    loop_->Post([this] { loop_->OnTick([this] { Tick(); }); });
  }

  [[nodiscard]] EventLoop& loop() { return *loop_; }

  // Any thread.
  void Adopt(int file, bool tls, std::string peer) {
    auto connection = std::make_shared<Connection>(server_, loop_, file, tls, std::move(peer));
    loop_->Post([this, connection = std::move(connection)] {
      connections_.push_back(connection);  // weak: the loop owns it until it is closed
      connection->Start();
      if (server_->draining) connection->Drain();
    });
  }
  void Drain() {
    for (const auto& connection : Alive()) connection->Drain();
  }
  void Abort() {
    for (const auto& connection : Alive()) connection->Abort();
  }

 private:
  void Tick() {
    const Duration now = server_->clock->Monotonic();
    for (const auto& connection : Alive()) connection->CheckDeadlines(now);
  }
  std::vector<std::shared_ptr<Connection>> Alive() {
    std::vector<std::shared_ptr<Connection>> alive;
    std::erase_if(connections_, [&](const auto& weak) {
      auto connection = weak.lock();
      if (connection == nullptr || connection->closed()) return true;
      alive.push_back(std::move(connection));
      return false;
    });
    return alive;
  }

  const std::shared_ptr<ServerShared> server_;
  const std::shared_ptr<EventLoop> loop_;
  std::vector<std::weak_ptr<Connection>> connections_;
};

// Accepts on one listener. On the first worker's thread.
class Acceptor final : public Pollable {
 public:
  Acceptor(std::shared_ptr<ServerShared> server, const Listener& listener,
           std::vector<std::unique_ptr<Worker>>& workers)
      : server_(std::move(server)), listener_(listener), workers_(workers) {}

  ~Acceptor() override { close(spare_); }

  void OnEvents(std::uint32_t) override {
    for (int i = 0; i < kAcceptsPerTurn; ++i) {
      std::string peer;
      const int file = listener_.Accept(peer);
      if (file < 0) {
        if (errno == EMFILE || errno == ENFILE) GiveOneUp();
        return;
      }
      ++server_->connections_accepted;
      if (server_->connections >= server_->options.limits.connections_max) {
        ++server_->connections_refused;
        close(file);
        continue;
      }
      workers_[next_++ % workers_.size()]->Adopt(file, server_->tls && !listener_.is_unix(),
                                                 std::move(peer));
    }
  }

 private:
  static int OpenSpare() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

  // Out of descriptors: without this the waiting connection would wake us over and over.
  void GiveOneUp() {
    ++server_->connections_refused;
    close(spare_);
    std::string peer;
    const int file = listener_.Accept(peer);
    if (file >= 0) close(file);
    spare_ = OpenSpare();
  }

  const std::shared_ptr<ServerShared> server_;
  const Listener& listener_;
  std::vector<std::unique_ptr<Worker>>& workers_;
  std::size_t next_ = 0;
  int spare_ = OpenSpare();
};

class Server final : public HttpServer {
 public:
  Server(std::shared_ptr<ServerShared> shared, std::vector<Listener> listeners)
      : shared_(std::move(shared)), listeners_(std::move(listeners)) {
    for (const Listener& listener : listeners_) {
      addresses_.push_back(listener.address());
      if (port_ == 0) port_ = listener.port();
    }
    const int threads = std::max(1, shared_->options.io_threads);
    for (int i = 0; i < threads; ++i) workers_.push_back(std::make_unique<Worker>(shared_, i));
    OnFirst([this] {
      for (const Listener& listener : listeners_) {
        accepting_.push_back(workers_[0]->loop().Add(
            listener.file(), EPOLLIN, std::make_shared<Acceptor>(shared_, listener, workers_)));
      }
    });
  }

  ~Server() override {
    Shutdown(Duration::zero());
    for (const auto& worker : workers_) worker->loop().Stop();
  }

  std::vector<std::string> addresses() const override { return addresses_; }
  int port() const override { return port_; }

  ServerStats Stats() const override {
    return {.connections = shared_->connections,
            .requests_in_flight = shared_->requests_in_flight,
            .connections_accepted = shared_->connections_accepted,
            .connections_refused = shared_->connections_refused,
            .requests = shared_->requests,
            .slow_streams_closed = *shared_->slow_streams};
  }

  void Shutdown(Duration grace) override {
    const std::lock_guard lock(shutdown_mutex_);
    shared_->draining = true;
    OnFirst([this] {
      for (std::size_t i = 0; i < accepting_.size(); ++i) {
        workers_[0]->loop().Remove(accepting_[i], listeners_[i].file());
      }
      accepting_.clear();
    });
    listeners_.clear();  // the ports are free from here on
    for (const auto& worker : workers_) {
      worker->loop().Post([&worker = *worker] { worker.Drain(); });
    }
    WaitForConnections(grace);
    for (const auto& worker : workers_) {
      worker->loop().Post([&worker = *worker] { worker.Abort(); });
    }
    WaitForConnections(kAbortTime);
  }

 private:
  static constexpr Duration kAbortTime = std::chrono::seconds(5);

  // Runs `task` on the first worker's thread and waits for it.
  void OnFirst(const std::function<void()>& task) {
    std::promise<void> done;
    workers_[0]->loop().Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }

  void WaitForConnections(Duration at_most) {
    const Duration end = RealClock().Monotonic() + at_most;
    while (shared_->connections > 0 && RealClock().Monotonic() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }

  const std::shared_ptr<ServerShared> shared_;
  std::vector<Listener> listeners_;
  std::vector<std::string> addresses_;
  int port_ = 0;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<EventLoop::Id> accepting_;
  std::mutex shutdown_mutex_;
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(ServerOptions options, HttpHandler handler) {
  AllowManyFiles();
  auto shared = std::make_shared<ServerShared>();
  if (options.tls != nullptr) {
    DRA_ASSIGN(shared->tls, TlsContext::Make(*options.tls));
  }
  std::vector<Listener> listeners;
  for (const std::string& address : options.listen) {
    DRA_ASSIGN(Listener listener, Listener::Open(address));
    listeners.push_back(std::move(listener));
  }
  shared->clock = options.clock != nullptr ? options.clock : &RealClock();
  shared->options = std::move(options);
  shared->handler = std::move(handler);
  return std::make_unique<Server>(std::move(shared), std::move(listeners));
}

}  // namespace drachma::net
