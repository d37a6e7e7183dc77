#include "validation/text_diff.h"

#include <gtest/gtest.h>

#include <string>

#include "json/json.h"

namespace drachma::validation {
namespace {

TEST(UnifiedDiff, EqualTextsHaveNone) { EXPECT_EQ(UnifiedDiff("a\nb", "a\nb"), ""); }

TEST(UnifiedDiff, AChangeHasThreeLinesAround) {
  EXPECT_EQ(UnifiedDiff("1\n2\n3\n4\n5\n6\n7\n8", "1\n2\n3\n4\nx\ny\n6\n7\n8"),
            "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+x\n+y\n 6\n 7\n 8\n");
}

TEST(UnifiedDiff, ChangesFarFromEachOtherStandApart) {
  EXPECT_EQ(UnifiedDiff("a\n1\n2\n3\n4\n5\n6\n7\nb", "1\n2\n3\n4\n5\n6\n7\nc"),
            "@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -6,4 +5,4 @@\n 5\n 6\n 7\n-b\n+c\n");
}

TEST(InternalDiff, ShowsFieldsByTheirGoNames) {
  EXPECT_EQ(InternalDiff(*json::Read(R"([{"name":"a","resourceClaimName":"c"}])"),
                         *json::Read(R"([{"name":"a","resourceClaimName":"d"}])"),
                         "k8s.io/api/core/v1.PodResourceClaim"),
            "@@ -1,7 +1,7 @@\n [\n  {\n   \"Name\": \"a\",\n-  \"ResourceClaimName\": \"c\",\n"
            "+  \"ResourceClaimName\": \"d\",\n   \"ResourceClaimTemplateName\": null\n  }\n ]\n");
}

}  // namespace
}  // namespace drachma::validation
