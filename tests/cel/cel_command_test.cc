#include "cli/cel_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/debug_cel.h"
#include "json/json.h"

namespace drachma::cli {
namespace {

using testing::HasSubstr;

json::Value SampleSlice() {
  return *json::Read(R"({"spec":{"driver":"gpu.example.com","pool":{"name":"node-1"},"devices":[
    {"name":"gpu-0","attributes":{"model":{"string":"a100"}},"capacity":{"memory":{"value":"40Gi"}}},
    {"name":"gpu-1","attributes":{"model":{"string":"h100"}},"capacity":{"memory":{"value":"80Gi"}}}
  ]}})");
}

int RunOn(std::string expression, bool json, std::string& out, std::string& err) {
  const std::vector<json::Value> slices = {SampleSlice()};
  std::ostringstream out_stream;
  std::ostringstream err_stream;
  const int code = RunCel({.expression = std::move(expression), .compile = {}, .json = json},
                          slices, out_stream, err_stream);
  out = out_stream.str();
  err = err_stream.str();
  return code;
}

TEST(CelCommandTest, WritesATable) {
  std::string out;
  std::string err;
  EXPECT_EQ(RunOn(R"(device.attributes["gpu.example.com"].model == "h100")", false, out, err), 0);
  EXPECT_EQ(out,
            "DEVICE                         RESULT     COST   WHY\n"
            "gpu.example.com/node-1/gpu-0   no match   5      "
            "device.attributes[\"gpu.example.com\"].model == \"h100\" is false "
            "(device.attributes[\"gpu.example.com\"].model is \"a100\")\n"
            "gpu.example.com/node-1/gpu-1   match      5\n");
}

TEST(CelCommandTest, WritesJson) {
  std::string out;
  std::string err;
  EXPECT_EQ(RunOn(R"(device.attributes["gpu.example.com"].modell == "h100")", true, out, err), 1)
      << "nothing matches";
  const json::Value answer = *json::Read(out);
  EXPECT_EQ(answer["devices"].size(), 2u);
  EXPECT_EQ(answer["devices"].Items()[0]["error"].AsString(), "no such key: modell");
  EXPECT_THAT(answer["devices"].Items()[0]["hints"].Items()[0].AsString(),
              HasSubstr("did you mean \"model\"?"));
}

TEST(CelCommandTest, RefusesBadExpressions) {
  std::string out;
  std::string err;
  EXPECT_EQ(RunOn("device.nope", false, out, err), 1);
  EXPECT_THAT(err, HasSubstr("undefined field 'nope'"));
}

TEST(CelCommandTest, HintsAtWhatIsMeant) {
  std::string out;
  std::string err;
  RunOn(R"(device.capacity["gpu.example.com"].memory > quantity("1Gi"))", false, out, err);
  EXPECT_THAT(err, HasSubstr("hint: quantities are compared with a.isGreaterThan(b)"));
  RunOn(R"(device.driver == "a" and true)", false, out, err);
  EXPECT_THAT(err, HasSubstr("hint: parts are joined with &&"));
  RunOn(R"(device.driver = "a")", false, out, err);
  EXPECT_THAT(err, HasSubstr("hint: values are compared with =="));
  RunOn("device.attributes[gpu.example.com].model == 'a'", false, out, err);
  EXPECT_THAT(err, HasSubstr("hint: names of domains stand in quotes"));
}

TEST(CelCommandTest, SaysWhatIsWrongWithTheWhole) {
  std::string out;
  std::string err;
  RunOn(R"(device.attributes["gpu.example.com"].model)", false, out, err);
  EXPECT_THAT(out, HasSubstr("CEL result of type string could not be converted to bool"));
  EXPECT_THAT(out, HasSubstr(R"(model is "a100")"));
}

TEST(DebugCelTest, AnswersLineByLine) {
  std::istringstream in(
      "{\"op\":\"eval\",\"expr\":\"x + 1\",\"bindings\":{\"x\":{\"int\":\"1\"}},"
      "\"types\":{\"x\":\"int\"}}\n"
      "nonsense\n"
      "{\"op\":\"selector\",\"expr\":\"device.driver == 'a'\",\"features\":[],\"env\":\"new\","
      "\"device\":{\"driver\":\"a\"}}\n");
  std::ostringstream out;
  EXPECT_EQ(RunDebugCel(in, out), 0);
  EXPECT_THAT(out.str(), HasSubstr(R"({"type":"int","value":{"int":"2"}})"));
  EXPECT_THAT(out.str(), HasSubstr(R"("phase":"request"})"));
  EXPECT_THAT(out.str(), HasSubstr(R"({"match":true,"cost":3,"maxCost":)"));
}

}  // namespace
}  // namespace drachma::cli
