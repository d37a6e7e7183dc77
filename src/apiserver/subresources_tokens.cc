// TokenRequest and TokenReview.
#include <utility>

#include "apiserver/codec.h"
#include "apiserver/service_account_tokens.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"

namespace drachma::apiserver {
namespace {

json::Value Texts(const std::vector<std::string>& texts) {
  json::Value list = json::Value::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

json::Value ReviewStatus(const User& user, const std::vector<std::string>& audiences) {
  json::Value info = json::Value::Object({{"username", user.name}});
  if (!user.uid.empty()) info.Set("uid", user.uid);
  info.Set("groups", Texts(user.groups));
  for (const auto& [key, values] : user.extra) info.Edit("extra").Set(key, Texts(values));
  json::Value status = json::Value::Object({{"authenticated", true}, {"user", std::move(info)}});
  if (!audiences.empty()) status.Set("audiences", Texts(audiences));
  return status;
}

// Asks service account tokens with the audiences of the review, then everybody else.
Result<User> ReviewedUser(ServiceAccountTokens& tokens,
                          const std::vector<std::shared_ptr<Authenticator>>& others,
                          const std::string& token, const std::vector<std::string>& audiences) {
  for (const auto& other : others) {
    const Result<std::optional<User>> user = other->Authenticate({.bearer_token = token});
    if (!user) return std::unexpected(user.error());
    if (*user) return **user;
  }
  return tokens.Check(token, audiences);
}

}  // namespace

void RegisterTokens(Core& core, std::shared_ptr<ServiceAccountTokens> tokens,
                    std::vector<std::shared_ptr<Authenticator>> others) {
  core.AddHandler("/serviceaccounts/token", [tokens](Core& /*server*/, ApiRequest request,
                                                     const KindPtr& /*kind*/, Done done) {
    if (request.call.verb != client::Verb::kCreate) {
      return done(std::unexpected(MethodNotAllowedError()));
    }
    std::vector<std::string> warnings;
    Result<json::Value> body = ReadOther(
        {.api_version = "authentication.k8s.io/v1", .kind = "TokenRequest"}, request, warnings);
    if (!body) return done(std::unexpected(std::move(body.error())));
    Result<json::Value> issued =
        tokens->Issue(request.call.ns, request.call.name, std::move(*body));
    if (!issued) return done(std::unexpected(std::move(issued.error())));
    done(Answer{.code = 201, .object = std::move(*issued)});
  });
  core.AddHandler("authentication.k8s.io/tokenreviews/", [tokens, others = std::move(others)](
                                                             Core& /*server*/, ApiRequest request,
                                                             const KindPtr& /*kind*/, Done done) {
    if (request.call.verb != client::Verb::kCreate) {
      return done(std::unexpected(MethodNotAllowedError()));
    }
    std::vector<std::string> warnings;
    Result<json::Value> review = ReadOther(
        {.api_version = "authentication.k8s.io/v1", .kind = "TokenReview"}, request, warnings);
    if (!review) return done(std::unexpected(std::move(review.error())));
    const std::string token(review->At({"spec", "token"}).AsString());
    if (token.empty()) return done(BadInput("token is required for TokenReview"));
    std::vector<std::string> audiences;
    for (const json::Value& audience : review->At({"spec", "audiences"}).Items()) {
      audiences.emplace_back(audience.AsString());
    }
    const Result<User> user = ReviewedUser(*tokens, others, token, audiences);
    review->Set("status", user ? ReviewStatus(*user, audiences)
                               : json::Value::Object(
                                     {{"authenticated", false}, {"error", user.error().message}}));
    done(Answer{.code = 201, .object = std::move(*review)});
  });
}

}  // namespace drachma::apiserver
