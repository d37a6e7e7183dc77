#include "apiserver/json_path.h"

#include <gtest/gtest.h>

#include "json/json.h"

namespace drachma::apiserver {
namespace {

std::string Found(std::string_view path) {
  const json::Value root = json::Read(R"({"spec":{"n":2,"list":[{"a":1},{"a":2}]},
      "metadata":{"annotations":{"x.io/y":"z"}},
      "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Other"}]}})")
                               .value();
  const auto parsed = JsonPath::Parse(path);
  if (!parsed) return "error";
  return json::Write(json::Value::Array(parsed->Find(root)));
}

TEST(JsonPath, LeadsToTheValues) {
  EXPECT_EQ(Found(".spec.n"), "[2]");
  EXPECT_EQ(Found(".spec.list[*].a"), "[1,2]");
  EXPECT_EQ(Found(".spec.list[-1].a"), "[2]");
  EXPECT_EQ(Found(".metadata.annotations['x.io/y']"), "[\"z\"]");
  EXPECT_EQ(Found(".metadata.annotations.x\\.io/y"), "[\"z\"]");
  EXPECT_EQ(Found(R"(.status.conditions[?(@.type=="Ready")].status)"), "[\"True\"]");
  EXPECT_EQ(Found(".spec.gone.n"), "[]");
}

TEST(JsonPath, WhatIsNoPathIsAnError) {
  for (const char* text : {"spec", ".a[", ".a[x]", "..a", ".a[?(a)]"}) {
    EXPECT_EQ(Found(text), "error") << text;
  }
}

}  // namespace
}  // namespace drachma::apiserver
