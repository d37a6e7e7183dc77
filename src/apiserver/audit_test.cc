#include "apiserver/audit.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

Attributes PodRequest(std::string verb) {
  return {.user = {.name = "jane", .groups = {"dev"}},
          .verb = std::move(verb),
          .version = "v1",
          .resource = "pods",
          .ns = "a",
          .name = "p"};
}

AuditPolicy Policy(std::string_view rules) {
  const auto policy = AuditPolicy::Parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n" +
                                         std::string(rules));
  EXPECT_TRUE(policy.has_value()) << (policy ? "" : policy.error().message);
  return policy.value_or(AuditPolicy());
}

TEST(AuditPolicyTest, TheFirstRuleThatFitsDecides) {
  const AuditPolicy policy = Policy(R"(
- {level: None, users: [system:kube-scheduler]}
- {level: RequestResponse, verbs: [create], resources: [{group: "", resources: [pods]}]}
- {level: Request, userGroups: [dev], namespaces: [a]}
- {level: None, nonResourceURLs: ["/healthz*", /version]}
- {level: Metadata, omitStages: [ResponseStarted]}
)");
  EXPECT_EQ(policy.For(PodRequest("create")).level, AuditLevel::kRequestResponse);
  EXPECT_EQ(policy.For(PodRequest("get")).level, AuditLevel::kRequest);
  Attributes other = PodRequest("create");
  other.subresource = "log";
  other.ns = "b";
  EXPECT_EQ(policy.For(other).level, AuditLevel::kMetadata);
  EXPECT_TRUE(policy.For(other).omit_response_started);
  other.user.name = "system:kube-scheduler";
  EXPECT_EQ(policy.For(other).level, AuditLevel::kNone);
  EXPECT_EQ(policy.For({.is_resource = false, .path = "/healthz/ping"}).level, AuditLevel::kNone);
  EXPECT_EQ(policy.For({.is_resource = false, .path = "/metrics"}).level, AuditLevel::kMetadata);
}

TEST(AuditPolicyTest, NoRuleIsNothingAndNoPolicyIsMetadata) {
  EXPECT_EQ(Policy("- {level: Request, verbs: [watch]}").For(PodRequest("get")).level,
            AuditLevel::kNone);
  EXPECT_EQ(AuditPolicy().For(PodRequest("get")).level, AuditLevel::kMetadata);
}

TEST(AuditPolicyTest, WrongPoliciesAreExplained) {
  const auto fault = [](std::string_view text) {
    const auto policy = AuditPolicy::Parse(text);
    return policy ? std::string() : policy.error().message;
  };
  EXPECT_EQ(fault("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- {level: All}"),
            "rules[0].level: Unsupported value: \"All\": supported values: \"None\", \"Metadata\", "
            "\"Request\", \"RequestResponse\"");
  EXPECT_EQ(fault("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: []"),
            "loaded illegal policy with 0 rules");
  EXPECT_NE(fault("kind: Pod"), "");
}

AuditEvent PodEvent(AuditLevel level) {
  net::HttpRequest request{
      .method = "POST",
      .target = "/api/v1/namespaces/a/pods?dryRun=All",
      .headers = {{"User-Agent", "kubectl/v1.37.2"}, {"X-Forwarded-For", "10.0.0.1, 10.0.0.2"}},
      .peer = "127.0.0.1:4000"};
  AuditEvent event = NewAuditEvent(request, ParseTime("2026-11-30T10:00:00Z").value(), "id-1");
  event.decision.level = level;
  event.attributes = PodRequest("create");
  event.attributes.name.clear();
  event.user = event.attributes.user;
  event.request_object = AuditedBody("kind: Pod\nmetadata: {name: q, managedFields: [{}]}");
  return event;
}

TEST(AuditLineTest, MetadataSaysWhoDidWhat) {
  const net::HttpResponse response{.status = 201,
                                   .headers = {{"Content-Type", "application/json"}},
                                   .body = {net::Share(R"({"kind":"Pod"})")}};
  EXPECT_EQ(json::Write(AuditLine(PodEvent(AuditLevel::kMetadata), "ResponseComplete",
                                  ParseTime("2026-11-30T10:00:01Z").value(), response)),
            R"({"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id-1",)"
            R"("stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/pods?dryRun=All",)"
            R"("verb":"create","user":{"username":"jane","groups":["dev"]},)"
            R"("sourceIPs":["10.0.0.1","10.0.0.2","127.0.0.1"],"userAgent":"kubectl/v1.37.2",)"
            R"("objectRef":{"resource":"pods","namespace":"a","name":"q","apiVersion":"v1"},)"
            R"("responseStatus":{"metadata":{},"code":201},)"
            R"("requestReceivedTimestamp":"2026-11-30T10:00:00.000000Z",)"
            R"("stageTimestamp":"2026-11-30T10:00:01.000000Z"})");
}

TEST(AuditLineTest, WhatAdmissionSaysStandsInAnnotations) {
  AuditEvent event = PodEvent(AuditLevel::kMetadata);
  const Time now = ParseTime("2026-11-30T10:00:01Z").value();
  EXPECT_FALSE(AuditLine(event, "ResponseComplete", now, {}).Has("annotations"));
  event.annotations->emplace("policy/key", "value");
  EXPECT_EQ(json::Write(AuditLine(event, "ResponseComplete", now, {})["annotations"]),
            R"({"policy/key":"value"})");
}

TEST(AuditLineTest, RequestResponseHoldsBothObjects) {
  const net::HttpResponse response{
      .status = 422,
      .headers = {{"Content-Type", "application/json"}},
      .body = {net::Share(R"({"kind":"Status","status":"Failure","reason":"Invalid",)"),
               net::Share(R"("message":"no","code":422})")}};
  AuditEvent event = PodEvent(AuditLevel::kRequestResponse);
  event.decision.omit_managed_fields = true;
  event.impersonated = true;
  event.user.name = "root";
  const json::Value line =
      AuditLine(event, "ResponseComplete", ParseTime("2026-11-30T10:00:01Z").value(), response);
  EXPECT_EQ(json::Write(line["requestObject"]), R"({"kind":"Pod","metadata":{"name":"q"}})");
  EXPECT_EQ(line["responseObject"]["message"].AsString(), "no");
  EXPECT_EQ(line["responseStatus"]["reason"].AsString(), "Invalid");
  EXPECT_EQ(line["user"]["username"].AsString(), "root");
  EXPECT_EQ(line["impersonatedUser"]["username"].AsString(), "jane");
}

TEST(AuditLogTest, LinesAreAppended) {
  char folder[] = "/tmp/drachma-audit-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const std::string path = std::string(folder) + "/audit.log";
  for (const char* name : {"a", "b"}) {
    auto log = AuditLog::Open(path, AuditPolicy());
    ASSERT_TRUE(log.has_value());
    (*log)->Write(json::Value::Object({{"name", name}}));
  }
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, "{\"name\":\"a\"}\n{\"name\":\"b\"}\n");
  unlink(path.c_str());
  rmdir(folder);
  EXPECT_EQ(AuditLog::Open(path, AuditPolicy()).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace drachma::apiserver
