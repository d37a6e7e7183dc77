#include "apiserver/patch_text.h"

#include <gtest/gtest.h>

#include "apiserver/go_print.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

constexpr char kObject[] =
    R"({"kind":"K","apiVersion":"v","metadata":{"name":"n","labels":{"b":"1","a":"2"}}})";

TEST(PatchText, AMergeSortsWhatItReaches) {
  EXPECT_EQ(MergedText(*json::Read(kObject), *json::Read(R"({"kind":"X"})")),
            R"({"apiVersion":"v","kind":"X","metadata":{"name":"n","labels":{"b":"1","a":"2"}}})");
  EXPECT_EQ(MergedText(*json::Read(kObject),
                       *json::Read(R"({"metadata":{"labels":"<","z":{"y":null}}})")),
            R"({"apiVersion":"v","kind":"K","metadata":{"labels":"\u003c","name":"n","z":{}}})");
}

TEST(PatchText, OperationsSortTheObjectsOnTheirWay) {
  const json::Value patched = *json::Read(kObject);
  EXPECT_EQ(
      OperatedText(patched, *json::Read(R"([{"op":"add","path":"/metadata/name","value":"n"}])")),
      R"({"apiVersion":"v","kind":"K","metadata":{"labels":{"b":"1","a":"2"},"name":"n"}})");
  EXPECT_EQ(OperatedText(patched, *json::Read(R"([{"op":"test","path":"/metadata","value":{}}])")),
            R"({"apiVersion":"v","kind":"K","metadata":{"labels":{"a":"2","b":"1"},"name":"n"}})");
}

TEST(GoPrint, ValuesLookAsGoPrintsThem) {
  const json::Value value = *json::Read(R"({"b":[1,null,2.5],"a":{"x":"y z"},"c":1e6})");
  EXPECT_EQ(GoText(value), "map[a:map[x:y z] b:[1 <nil> 2.5] c:1e+06]");
  EXPECT_EQ(GoSyntax(value), R"(map[string]interface {}{"a":map[string]interface {}{"x":"y z"}, )"
                             R"("b":[]interface {}{1, interface {}(nil), 2.5}, "c":1e+06})");
}

}  // namespace
}  // namespace drachma::apiserver
