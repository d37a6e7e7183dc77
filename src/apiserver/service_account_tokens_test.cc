#include "apiserver/service_account_tokens.h"

#include <gtest/gtest.h>

#include "apiserver/fake_object_reader.h"
#include "base/executor.h"

namespace drachma::apiserver {
namespace {

class TokensTest : public testing::Test {
 protected:
  TokensTest() {
    objects_.Add("serviceaccounts", R"({"metadata":{"namespace":"a","name":"s","uid":"u1"}})");
    objects_.Add("nodes", R"({"metadata":{"name":"n1","uid":"u3"}})");
    objects_.Add("pods", R"({"metadata":{"namespace":"a","name":"p","uid":"u2"},
                             "spec":{"nodeName":"n1","serviceAccountName":"s"}})");
  }
  std::string Issue(std::string_view request) {
    const auto answer = tokens_.Issue("a", "s", json::Read(request).value());
    EXPECT_TRUE(answer.has_value()) << (answer ? "" : answer.error().message);
    return answer ? std::string((*answer)["status"]["token"].AsString()) : "";
  }
  void PassTime(Duration duration) {
    executor_.PostAfter(duration, [] {});
    executor_.RunOne(Time::max());
  }

  FakeObjectReader objects_;
  VirtualExecutor executor_{ParseTime("2026-11-30T00:00:00Z").value()};
  Random random_{1};
  ServiceAccountTokens tokens_{objects_, executor_.clock(), random_,
                               net::SigningKey::Generate().value()};
};

TEST_F(TokensTest, ATokenIsItsServiceAccount) {
  const auto user = tokens_.Authenticate({.bearer_token = Issue("{}")});
  ASSERT_TRUE(user.has_value() && user->has_value());
  EXPECT_EQ((*user)->name, "system:serviceaccount:a:s");
  EXPECT_EQ((*user)->uid, "u1");
  EXPECT_TRUE((*user)->InGroup("system:serviceaccounts:a"));
}

TEST_F(TokensTest, ATokenOfAPodTellsPodAndNodeAndEndsWithThePod) {
  const std::string token = Issue(R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p"}}})");
  const auto user = tokens_.Authenticate({.bearer_token = token});
  ASSERT_TRUE(user.has_value() && user->has_value());
  EXPECT_EQ((*user)->extra.at("authentication.kubernetes.io/node-name"),
            std::vector<std::string>{"n1"});
  EXPECT_EQ((*user)->extra.at("authentication.kubernetes.io/pod-uid"),
            std::vector<std::string>{"u2"});
  objects_.Remove("pods", "a", "p");
  EXPECT_EQ(tokens_.Authenticate({.bearer_token = token}).error().code, Code::kUnauthorized);
}

TEST_F(TokensTest, ATokenEndsWithItsTimeAndItsAccount) {
  const std::string token = Issue(R"({"spec":{"expirationSeconds":600}})");
  PassTime(std::chrono::seconds(599));
  EXPECT_TRUE(tokens_.Authenticate({.bearer_token = token}).has_value());
  PassTime(std::chrono::seconds(1));
  EXPECT_EQ(tokens_.Authenticate({.bearer_token = token}).error().message,
            "service account token has expired");
  const std::string other = Issue("{}");
  objects_.Add("serviceaccounts", R"({"metadata":{"namespace":"a","name":"s","uid":"u9"}})");
  EXPECT_FALSE(tokens_.Authenticate({.bearer_token = other}).has_value());
}

TEST_F(TokensTest, OtherAudiencesAreNotOurs) {
  const std::string token = Issue(R"({"spec":{"audiences":["vault"]}})");
  EXPECT_FALSE(tokens_.Authenticate({.bearer_token = token}).has_value());
  EXPECT_TRUE(tokens_.Check(token, {"vault"}).has_value());
}

TEST_F(TokensTest, AChangedTokenIsRefused) {
  std::string token = Issue("{}");
  token[token.size() / 2] = token[token.size() / 2] == 'A' ? 'B' : 'A';
  EXPECT_FALSE(tokens_.Authenticate({.bearer_token = token}).has_value());
}

TEST_F(TokensTest, WhatIsNoTokenOfThisKindIsLeftToOthers) {
  const auto user = tokens_.Authenticate({.bearer_token = "admin-token"});
  ASSERT_TRUE(user.has_value());
  EXPECT_FALSE(user->has_value());
}

TEST_F(TokensTest, WrongRequestsAreExplained) {
  const auto issue = [&](std::string_view text) {
    return tokens_.Issue("a", "s", json::Read(text).value()).error();
  };
  EXPECT_EQ(issue(R"({"spec":{"expirationSeconds":1}})").causes.at(0).field,
            "spec.expirationSeconds");
  EXPECT_EQ(issue(R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"gone"}}})").code,
            Code::kNotFound);
  EXPECT_EQ(issue(R"({"spec":{"boundObjectRef":{"kind":"Pod","name":"p","uid":"x"}}})").code,
            Code::kConflict);
}

}  // namespace
}  // namespace drachma::apiserver
