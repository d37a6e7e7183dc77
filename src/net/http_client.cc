#include "net/http_client.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "net/certificates.h"
#include "net/curl_transfer.h"

namespace drachma::net {
namespace {

// How long the thread sleeps when curl knows nothing better.
constexpr int kPollMs = 1000;
// How many requests end between two searches for those that nobody can cancel any more.
constexpr std::size_t kEndsPerSweep = 256;

void InitialiseCurl() {
  static const bool done = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  DRA_CHECK(done);
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(ClientOptions options) : options_(std::move(options)) {
    InitialiseCurl();
    multi_ = curl_multi_init();
    curl_multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    // Kept open for reuse; curl's own number depends on how many requests run just now.
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, 256L);
    thread_ = std::thread([this] { Run(); });
  }

  ~CurlClient() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    curl_multi_wakeup(multi_);
    thread_.join();
    curl_multi_cleanup(multi_);
  }

  RequestId Send(ClientRequest request, Executor& executor, Done done) override {
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->executor = &executor;
    transfer->delivery->done = std::move(done);
    return Begin(std::move(transfer));
  }

  RequestId Stream(ClientRequest request, Executor& executor, StreamCallbacks callbacks) override {
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->executor = &executor;
    transfer->delivery->callbacks = std::move(callbacks);
    transfer->is_stream = true;
    return Begin(std::move(transfer));
  }

  void Cancel(RequestId id) override {
    {
      const std::lock_guard lock(mutex_);
      const auto found = deliveries_.find(id);
      if (found == deliveries_.end()) return;
      if (const auto delivery = found->second.lock()) delivery->cancelled = true;
      deliveries_.erase(found);
      cancelled_.push_back(id);
    }
    curl_multi_wakeup(multi_);
  }

 private:
  RequestId Begin(std::unique_ptr<Transfer> transfer) {
    RequestId id = 0;
    {
      const std::lock_guard lock(mutex_);
      id = transfer->id = next_++;
      deliveries_.emplace(id, transfer->delivery);
      incoming_.push_back(std::move(transfer));
    }
    curl_multi_wakeup(multi_);
    return id;
  }

  void Run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // a broken pipe is an error, not a signal
    pthread_setname_np(pthread_self(), "http-client");
    while (TakeCommands()) {
      int running = 0;
      curl_multi_perform(multi_, &running);
      Reap();
      StartWaiting();
      const int wait_ms = CheckStreams();
      curl_multi_poll(multi_, nullptr, 0, wait_ms, nullptr);
    }
    for (auto& [id, transfer] : transfers_) {
      transfer->delivery->cancelled = true;
      curl_multi_remove_handle(multi_, transfer->easy.get());
    }
    transfers_.clear();
  }

  // False when the client is being destroyed.
  bool TakeCommands() {
    std::vector<std::unique_ptr<Transfer>> incoming;
    std::vector<RequestId> cancelled;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) {
        for (auto& [id, weak] : deliveries_) {
          if (const auto delivery = weak.lock()) delivery->cancelled = true;
        }
        return false;
      }
      incoming.swap(incoming_);
      cancelled.swap(cancelled_);
    }
    for (auto& transfer : incoming) {
      if (transfer->is_stream) {
        Start(std::move(transfer));
      } else {
        waiting_.push_back(std::move(transfer));
      }
    }
    for (const RequestId id : cancelled) Forget(id);
    StartWaiting();
    return true;
  }

  void Start(std::unique_ptr<Transfer> transfer) {
    PrepareTransfer(*transfer, options_);
    curl_multi_add_handle(multi_, transfer->easy.get());
    transfers_.emplace(transfer->id, std::move(transfer));
  }

  void StartWaiting() {
    while (!waiting_.empty() && requests_ < options_.requests_max) {
      std::unique_ptr<Transfer> transfer = std::move(waiting_.front());
      waiting_.pop_front();
      if (transfer->delivery->cancelled) continue;
      ++requests_;
      Start(std::move(transfer));
    }
  }

  void Forget(RequestId id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    curl_multi_remove_handle(multi_, found->second->easy.get());
    if (!found->second->is_stream) --requests_;
    transfers_.erase(found);
  }

  void Reap() {
    int left = 0;
    while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      Transfer* transfer = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &transfer);
      End(*transfer, message->data.result);
    }
  }

  void End(Transfer& transfer, CURLcode code) {
    const RequestId id = transfer.id;
    TellEnd(transfer, code);
    Forget(id);
    // A delivery stays known to Cancel() until its executor has run it.
    if (++ended_ % kEndsPerSweep != 0) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(deliveries_, [](const auto& entry) { return entry.second.expired(); });
  }

  // Ends streams whose head does not come and goes on with those whose reader has caught up.
  // Returns how long to sleep.
  int CheckStreams() {
    int wait_ms = kPollMs;
    std::vector<Transfer*> late;
    for (auto& [id, transfer] : transfers_) {
      if (transfer->paused) {
        if (transfer->delivery->backlog_bytes <= options_.backlog_bytes_max / 2) {
          transfer->paused = false;
          curl_easy_pause(transfer->easy.get(), CURLPAUSE_CONT);
          wait_ms = 0;
        } else {
          wait_ms = std::min(wait_ms, 10);
        }
      }
      if (transfer->head_deadline == Duration::zero() || transfer->response.status != 0) continue;
      const Duration left = transfer->head_deadline - RealClock().Monotonic();
      if (left <= Duration::zero()) {
        late.push_back(transfer.get());
      } else {
        wait_ms = std::min<int>(wait_ms, static_cast<int>(Milliseconds(left)));
      }
    }
    for (Transfer* transfer : late) {
      transfer->timed_out = true;
      End(*transfer, CURLE_OPERATION_TIMEDOUT);
    }
    return wait_ms;
  }

  const ClientOptions options_;
  CURLM* multi_ = nullptr;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Transfer>> incoming_;
  std::vector<RequestId> cancelled_;
  std::map<RequestId, std::weak_ptr<Delivery>> deliveries_;
  RequestId next_ = 1;
  bool stopping_ = false;

  // On the thread only.
  std::map<RequestId, std::unique_ptr<Transfer>> transfers_;
  std::deque<std::unique_ptr<Transfer>> waiting_;  // requests over requests_max
  std::size_t requests_ = 0;                       // of transfers_ that are no streams
  std::size_t ended_ = 0;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> HttpClient::Make(ClientOptions options) {
  if (!options.ca_pem.empty()) {
    if (const auto info = DescribeCertificate(options.ca_pem); !info) {
      return Fail(Code::kInvalid, "certificate authority: " + info.error().message);
    }
  }
  if (!options.certificate_pem.empty()) {
    DRA_TRY(CheckKeyFits({options.certificate_pem, options.key_pem}));
  }
  return std::make_unique<CurlClient>(std::move(options));
}

}  // namespace drachma::net
