#include "api/internal_form.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::api {
namespace {

std::string Through(std::string_view group, std::string_view kind, std::string_view text) {
  json::Value object = *json::Read(text);
  ThroughInternalForm(group, kind, object);
  return json::Write(object);
}

TEST(InternalForm, TextsOfSecretsEndInTheirData) {
  EXPECT_EQ(Through("", "Secret", R"({"data":{"k":"AA=="},"stringData":{"k":"v","t":"w"}})"),
            R"({"data":{"k":"dg==","t":"dw=="}})");
}

TEST(InternalForm, DaemonSetsCountTheirTemplatesInAnAnnotation) {
  EXPECT_EQ(Through("apps", "DaemonSet", R"({"metadata":{"name":"d"}})"),
            R"({"metadata":{"name":"d","annotations":)"
            R"({"deprecated.daemonset.template.generation":"0"}}})");
}

TEST(InternalForm, ClaimsOfStatefulSetsHaveTypes) {
  EXPECT_EQ(Through("apps", "StatefulSet",
                    R"({"spec":{"volumeClaimTemplates":[{"metadata":{"name":"v"}}]}})"),
            R"({"spec":{"volumeClaimTemplates":[{"kind":"PersistentVolumeClaim",)"
            R"("apiVersion":"v1","metadata":{"name":"v"}}]}})");
}

TEST(InternalForm, OtherKindsStayAsTheyAre) {
  EXPECT_EQ(Through("", "ConfigMap", R"({"stringData":{"k":"v"}})"), R"({"stringData":{"k":"v"}})");
}

}  // namespace
}  // namespace drachma::api
