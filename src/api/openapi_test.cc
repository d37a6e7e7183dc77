#include "api/openapi.h"

#include <gtest/gtest.h>

#include <set>

#include "json/json.h"

namespace drachma::api {
namespace {

using json::Value;

void CollectRefs(const Value& value, std::set<std::string>& refs) {
  for (const json::Member& member : value.Members()) {
    // A field of that name has a schema, not a text.
    if (member.key() == "$ref" && member.value.IsString()) {
      refs.insert(std::string(member.value.AsString()));
    }
    CollectRefs(member.value, refs);
  }
  for (const Value& item : value.Items()) CollectRefs(item, refs);
}

TEST(OpenApi, EveryReferenceLeadsToASchema) {
  for (const OpenApiEntry& entry : OpenApiIndex({})) {
    const Value document = OpenApiDocument(entry.path, {});
    ASSERT_TRUE(document.IsObject()) << entry.path;
    std::set<std::string> refs;
    CollectRefs(document, refs);
    for (const std::string& ref : refs) {
      const std::string prefix = "#/components/schemas/";
      ASSERT_TRUE(ref.starts_with(prefix));
      EXPECT_TRUE(document["components"]["schemas"].Has(ref.substr(prefix.size())))
          << entry.path << ref;
    }
  }
}

TEST(OpenApi, TellsKubectlWhatApplyNeeds) {
  const Value document = OpenApiDocument("apis/apps/v1", {});
  const Value& patch =
      document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
  EXPECT_EQ(json::Write(patch["x-kubernetes-group-version-kind"]),
            R"({"group":"apps","kind":"Deployment","version":"v1"})");
  EXPECT_TRUE(patch["requestBody"]["content"].Has("application/strategic-merge-patch+json"));
  std::set<std::string> parameters;
  for (const Value& parameter : patch["parameters"].Items()) {
    parameters.insert(std::string(parameter["name"].AsString()));
  }
  EXPECT_TRUE(parameters.contains("fieldValidation"));
  EXPECT_TRUE(parameters.contains("dryRun"));
  const Value& schemas = document["components"]["schemas"];
  EXPECT_EQ(json::Write(schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]),
            R"({"type":"array","items":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.)"
            R"(Container"}],"default":{}},"x-kubernetes-list-type":"map",)"
            R"("x-kubernetes-patch-merge-key":"name","x-kubernetes-patch-strategy":"merge",)"
            R"("x-kubernetes-list-map-keys":["name"]})");
  EXPECT_EQ(
      json::Write(schemas["io.k8s.api.apps.v1.Deployment"]["x-kubernetes-group-version-kind"]),
      R"([{"group":"apps","kind":"Deployment","version":"v1"}])");
}

TEST(OpenApi, ExplainsTheFieldsOfClaimsInAllVersions) {
  for (const std::string version : {"v1", "v1beta2", "v1beta1"}) {
    const Value document = OpenApiDocument("apis/resource.k8s.io/" + version, {});
    for (const auto& [name, schema] : document["components"]["schemas"].Members()) {
      const std::string_view text = name.AsString();
      if (!text.starts_with("io.k8s.api.resource.")) continue;
      for (const auto& [field, property] : schema["properties"].Members()) {
        EXPECT_FALSE(property["description"].AsString().empty() &&
                     text.find("NodeAllocatable") == text.npos)
            << text << "." << field.AsString();
      }
    }
  }
}

TEST(OpenApi, GatedKindsAppearWithTheirGate) {
  FeatureGates gates;
  const auto has_podgroup = [](const FeatureGates& g) {
    return OpenApiDocument("apis/scheduling.k8s.io/v1beta1", g)["components"]["schemas"].Has(
        "io.k8s.api.scheduling.v1beta1.PodGroup");
  };
  EXPECT_FALSE(has_podgroup(gates));
  const std::string before = OpenApiIndex(gates).front().hash;
  gates.Set(Gate::kGenericWorkload, true);
  EXPECT_TRUE(has_podgroup(gates));
  EXPECT_NE(OpenApiIndex(gates).front().hash, before);
}

TEST(OpenApi, UnknownDocumentsAreNull) {
  EXPECT_TRUE(OpenApiDocument("apis/apps/v7", {}).IsNull());
}

TEST(OpenApi, GnosticBytesHoldTheWholeSwagger) {
  const Value swagger = OpenApiV2({});
  const std::string bytes = GnosticBytes(swagger);
  // Document {1 swagger}.
  EXPECT_TRUE(bytes.starts_with(std::string("\x0A\x03") + "2.0"));
  for (const json::Member& definition : swagger["definitions"].Members()) {
    EXPECT_NE(bytes.find(definition.key()), std::string::npos);
  }
}

}  // namespace
}  // namespace drachma::api
