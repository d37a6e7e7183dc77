#include "controllers/objects.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::controllers {
namespace {

TEST(Conditions, SayingTheSameAgainChangesNothing) {
  const json::Value stored = json::Read(R"([{"type":"Ready","status":"True","reason":"R",
      "message":"m","lastProbeTime":null,"lastTransitionTime":"2026-01-01T00:00:00Z"}])")
                                 .value();
  EXPECT_EQ(WithCondition(stored, NewCondition("Ready", true, "R", "m", "2026-01-02T00:00:00Z")),
            stored);
}

TEST(Conditions, AnotherStatusHasItsOwnTime) {
  const json::Value stored =
      json::Read(
          R"([{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}])")
          .value();
  const json::Value changed =
      WithCondition(stored, NewCondition("Ready", false, "R", "m", "2026-01-02T00:00:00Z"));
  EXPECT_EQ(changed.Items()[0]["lastTransitionTime"].AsString(), "2026-01-02T00:00:00Z");
}

}  // namespace
}  // namespace drachma::controllers
