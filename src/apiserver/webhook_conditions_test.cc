#include "apiserver/webhook_conditions.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

constexpr std::string_view kRequest =
    R"({"operation":"CREATE","namespace":"n","object":{"metadata":{"name":"x"}},"oldObject":null})";

json::Value Hook(std::string_view expression, std::string_view policy = "Fail") {
  json::Value condition = json::Value::Object({{"name", "c"}, {"expression", expression}});
  return json::Value::Object(
      {{"failurePolicy", policy}, {"matchConditions", json::Value::Array({std::move(condition)})}});
}

TEST(MatchConditions, SeeTheObjectAndTheRequest) {
  const json::Value request = *json::Read(kRequest);
  EXPECT_TRUE(*MatchConditionsHold(
      Hook("object.metadata.name == 'x' && oldObject == null && request.namespace == 'n'"),
      request));
  EXPECT_FALSE(*MatchConditionsHold(Hook("request.operation == 'DELETE'"), request));
}

TEST(MatchConditions, FailuresAreForThePolicy) {
  const json::Value request = *json::Read(kRequest);
  EXPECT_FALSE(*MatchConditionsHold(Hook("object.spec.a == 1", "Ignore"), request));
  const auto failed = MatchConditionsHold(Hook("object.spec.a == 1"), request);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message,
            "expression 'object.spec.a == 1' resulted in error: no such key: spec");
}

}  // namespace
}  // namespace drachma::apiserver
