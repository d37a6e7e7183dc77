#pragma once

// One request of the HTTP client on its way through libcurl. Only for .cc files of this folder.
#include <curl/curl.h>

#include <atomic>
#include <memory>
#include <string>

#include "net/http_client.h"

namespace drachma::net {

// What the tasks posted to the request's executor share with the transfer.
struct Delivery {
  std::atomic<bool> cancelled = false;
  std::atomic<std::size_t> backlog_bytes = 0;
  HttpClient::Done done;      // of a plain request
  StreamCallbacks callbacks;  // of a stream
};

// A request under way. Used on the client's thread only.
struct Transfer {
  using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
  using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

  HttpClient::RequestId id = 0;
  ClientRequest request;
  Executor* executor = nullptr;
  std::shared_ptr<Delivery> delivery = std::make_shared<Delivery>();
  bool is_stream = false;

  Handle easy{nullptr, curl_easy_cleanup};
  List fields{nullptr, curl_slist_free_all};
  List connect_to{nullptr, curl_slist_free_all};
  char error_text[CURL_ERROR_SIZE] = {};
  const ClientOptions* options = nullptr;

  ClientResponse response;  // filled as it comes
  bool head_told = false;
  std::string line;          // the beginning of a line
  Duration head_deadline{};  // of a stream; 0: none
  bool paused = false;
  bool too_large = false;
  bool timed_out = false;

  // Whether the body is told line by line rather than kept.
  [[nodiscard]] bool TellsLines() const { return is_stream && response.status / 100 == 2; }
};

// Makes the easy handle of `transfer.request`. `options` must outlive the transfer.
void PrepareTransfer(Transfer& transfer, const ClientOptions& options);
// Tells the request's executor that it has ended.
void TellEnd(Transfer& transfer, CURLcode code);
// The duration for curl, rounded up.
long Milliseconds(Duration duration);

}  // namespace drachma::net
