#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth.h"
#include "base/clock.h"
#include "base/result.h"
#include "json/value.h"
#include "net/http.h"

namespace drachma::apiserver {

enum class AuditLevel : std::uint8_t { kNone, kMetadata, kRequest, kRequestResponse };

// Which requests are recorded, and how much of them (audit.k8s.io/v1 Policy): the first rule that
// fits decides, none is kNone. Immutable; any thread.
class AuditPolicy {
 public:
  // Metadata of everything: what is recorded without a policy file.
  AuditPolicy();
  // Of a policy's YAML or JSON. ERRORS: kInvalid with what is wrong with it.
  [[nodiscard]] static Result<AuditPolicy> Parse(std::string_view text);

  struct Decision {
    AuditLevel level = AuditLevel::kNone;
    bool omit_response_started = false;
    bool omit_response_complete = false;
    bool omit_managed_fields = false;
  };
  [[nodiscard]] Decision For(const Attributes& attributes) const;

 private:
  json::Value rules_;
  json::Value omit_stages_;
  bool omit_managed_fields_ = false;
};

// One request as it is recorded. Filled on its way; belongs to one thread at a time.
struct AuditEvent {
  AuditPolicy::Decision decision;
  std::string id;
  Time received;
  std::string uri;
  Attributes attributes;
  User user;                            // who was authenticated
  bool impersonated = false;            // then attributes.user is somebody else
  std::vector<std::string> source_ips;  // of X-Forwarded-For and the peer
  std::string user_agent;
  json::Value request_object;  // null: none
  // Admission's words; filled while the request is handled.
  std::shared_ptr<std::map<std::string, std::string>> annotations = {};
};

// Makes an event of what is known before a request is handled.
[[nodiscard]] AuditEvent NewAuditEvent(const net::HttpRequest& request, Time now, std::string id);
// Reads a body for an event: JSON, YAML or protobuf; null when it is none of them.
[[nodiscard]] json::Value AuditedBody(std::string_view body);

// The line of an event at a stage: "ResponseStarted" or "ResponseComplete". Pure.
[[nodiscard]] json::Value AuditLine(const AuditEvent& event, std::string_view stage, Time now,
                                    const net::HttpResponse& response);

// Appends events to a file (upstream's --audit-log-path), a line of JSON each, before their
// responses are sent. Any thread. A line that cannot be written is told in the log; the request
// goes on.
class AuditLog {
 public:
  // Opens or creates the file; "-" is the standard output.
  // ERRORS: kUnavailable when it cannot be opened.
  [[nodiscard]] static Result<std::shared_ptr<AuditLog>> Open(const std::string& path,
                                                              AuditPolicy policy);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  [[nodiscard]] const AuditPolicy& policy() const { return policy_; }
  void Write(const json::Value& line);

 private:
  AuditLog(int file, AuditPolicy policy) : file_(file), policy_(std::move(policy)) {}

  const int file_;
  const AuditPolicy policy_;
  std::mutex mutex_;  // lines stay whole
};

}  // namespace drachma::apiserver
