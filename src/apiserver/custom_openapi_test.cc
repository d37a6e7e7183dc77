#include "apiserver/custom_openapi.h"

#include <gtest/gtest.h>

#include "apiserver/codec.h"
#include "apiserver/core.h"
#include "apiserver/custom_kind.h"
#include "apiserver/custom_scale.h"
#include "apiserver/discovery.h"
#include "json/json.h"
#include "store/store.h"

namespace drachma::apiserver {
namespace {

constexpr const char* kDefinition = R"({"metadata":{"name":"domains.gpu.example.com"},
    "spec":{"group":"gpu.example.com","scope":"Namespaced","names":{"plural":"domains",
    "singular":"domain","kind":"Domain","listKind":"DomainList"},"versions":[{"name":"v1",
    "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
    "spec":{"type":"object","properties":{"nodes":{"type":"integer","nullable":true,
    "description":"How many."}}},"status":{"type":"object","properties":{
    "ready":{"type":"integer"}}}}}},"subresources":{"status":{},"scale":{
    "specReplicasPath":".spec.nodes","statusReplicasPath":".status.ready"}}}]}})";

// A registry that serves one custom kind.
class CustomKindTest : public testing::Test {
 protected:
  CustomKindTest() {
    core_.kinds().Put(MakeCustomKind(json::Read(kDefinition).value()).value());
    core_.BumpServedGeneration();
    core_.AddHandler("gpu.example.com/domains/scale", HandleCustomScale);
  }
  Result<Answer> Do(client::Verb verb, std::string subresource, std::string_view body) {
    ApiRequest request;
    request.user = AdminUser();
    request.call.verb = verb;
    request.call.resource = {"gpu.example.com", "v1", "domains"};
    request.call.ns = "default";
    request.call.subresource = std::move(subresource);
    if (verb != client::Verb::kCreate) request.call.name = "d";
    if (!body.empty()) request.call.body = json::Read(body).value();
    Result<Answer> result = Fail(Code::kInternal, "no answer");
    core_.Handle(std::move(request), [&](Result<Answer> answer) { result = std::move(answer); });
    // The memory store answers from its own thread or at once; virtual time runs what it posts.
    for (int i = 0; i < 1000 && !result; ++i) {
      if (!executor_.RunOne(Time::max())) break;
    }
    return result;
  }
  void CreateDomain() {
    const auto made = Do(client::Verb::kCreate, "",
                         R"({"apiVersion":"gpu.example.com/v1","kind":"Domain",
                             "metadata":{"name":"d"},"spec":{"nodes":2}})");
    ASSERT_TRUE(made) << made.error().message;
  }

  std::unique_ptr<store::Store> store_ = store::OpenMemoryStore();
  VirtualExecutor executor_{ParseTime("2026-11-30T00:00:00Z").value()};
  Core core_{*store_, executor_, Core::Options{.seed = 1}};
};

TEST_F(CustomKindTest, TheDocumentHasSchemaAndPaths) {
  const json::Value document = CustomOpenApiDocument(core_.kinds().all(), "gpu.example.com", "v1");
  const json::Value& schema = document["components"]["schemas"]["com.example.gpu.v1.Domain"];
  EXPECT_EQ(schema["properties"]["spec"]["properties"]["nodes"]["description"].AsString(),
            "How many.");
  EXPECT_EQ(json::Write(schema["x-kubernetes-group-version-kind"]),
            R"([{"group":"gpu.example.com","kind":"Domain","version":"v1"}])");
  EXPECT_TRUE(
      document["components"]["schemas"].Has("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
  const json::Value& item =
      document["paths"]["/apis/gpu.example.com/v1/namespaces/{namespace}/domains/{name}"];
  EXPECT_EQ(item["patch"]["parameters"].Items()[2]["name"].AsString(), "fieldValidation");
  EXPECT_TRUE(CustomOpenApiDocument(core_.kinds().all(), "apps", "v1").IsNull());
}

TEST_F(CustomKindTest, DiscoveryListsTheDocument) {
  Discovery discovery(core_, "127.0.0.1:6443");
  const auto index = discovery.OpenApiAt("/openapi/v3", "application/json");
  ASSERT_TRUE(index.has_value());
  EXPECT_NE(index->body->find("/openapi/v3/apis/gpu.example.com/v1?hash="), std::string::npos);
  EXPECT_TRUE(discovery.OpenApiAt("/openapi/v3/apis/gpu.example.com/v1", "").has_value());
  const auto swagger = discovery.OpenApiAt("/openapi/v2", "application/json");
  const json::Value read = json::Read(*swagger->body).value();
  const json::Value& schema = read["definitions"]["com.example.gpu.v1.Domain"];
  EXPECT_TRUE(schema["properties"]["spec"]["properties"].Has("nodes"));
  EXPECT_FALSE(schema["properties"]["spec"]["properties"]["nodes"].Has("nullable"));
}

TEST_F(CustomKindTest, ScaleReadsAndWritesTheFieldsOfTheDefinition) {
  CreateDomain();
  const auto read = Do(client::Verb::kGet, "scale", "");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->Object()["spec"]["replicas"].AsInt(), 2);
  EXPECT_EQ(read->Object()["status"]["replicas"].AsInt(), 0);
  const auto written = Do(client::Verb::kUpdate, "scale",
                          R"({"apiVersion":"autoscaling/v1","kind":"Scale",
                              "metadata":{"name":"d","namespace":"default"},
                              "spec":{"replicas":5}})");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->Object()["kind"].AsString(), "Scale");
  EXPECT_EQ(core_.Get("gpu.example.com", "domains", "default", "d")["spec"]["nodes"].AsInt(), 5);
}

TEST_F(CustomKindTest, ObjectsThatNestTooDeepAreRefused) {
  std::string deep = "1";
  for (std::size_t i = 0; i < kObjectDepthMax; ++i) deep = "{\"a\":" + deep + "}";
  const auto made = Do(client::Verb::kCreate, "",
                       R"({"apiVersion":"gpu.example.com/v1","kind":"Domain",
                           "metadata":{"name":"d"},"x":)" +
                           deep + "}");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().message, "the object nests deeper than 500 levels");
}

TEST_F(CustomKindTest, NegativeReplicasAreRefused) {
  CreateDomain();
  const auto written = Do(client::Verb::kUpdate, "scale",
                          R"({"apiVersion":"autoscaling/v1","kind":"Scale",
                              "metadata":{"name":"d","namespace":"default"},
                              "spec":{"replicas":-1}})");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().causes.at(0).field, ".spec.nodes");
}

}  // namespace
}  // namespace drachma::apiserver
