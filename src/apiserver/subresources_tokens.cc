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

json::Value ReviewStatus(User user, const std::vector<std::string>& audiences) {
  if (!user.InGroup(kAuthenticatedGroup)) user.groups.emplace_back(kAuthenticatedGroup);
  json::Value info = json::Value::Object({{"username", user.name}});
  if (!user.uid.empty()) info.Set("uid", user.uid);
  info.Set("groups", Texts(user.groups));
  for (const auto& [key, values] : user.extra) info.Edit("extra").Set(key, Texts(values));
  return json::Value::Object(
      {{"authenticated", true}, {"user", std::move(info)}, {"audiences", Texts(audiences)}});
}

using Reviewed = ServiceAccountTokens::Checked;

// Asks service account tokens with the audiences of the review, then everybody else, whose tokens
// are good for all audiences.
Result<Reviewed> ReviewedUser(ServiceAccountTokens& tokens,
                              const std::vector<std::shared_ptr<Authenticator>>& others,
                              const std::string& token, std::vector<std::string> audiences) {
  for (const auto& other : others) {
    Result<std::optional<User>> user = other->Authenticate({.bearer_token = token});
    if (!user) return std::unexpected(user.error());
    if (!*user) continue;
    if (audiences.empty()) audiences = {std::string(ServiceAccountTokens::kIssuer)};
    return Reviewed{.user = **std::move(user), .audiences = std::move(audiences)};
  }
  return tokens.Check(token, audiences);
}

// The admission plugins' say in a token: a kubelet asks for its own pods' only.
Status AdmitToken(Core& core, const ApiRequest& request, const json::Value& body) {
  AdmissionRequest admission{.operation = Operation::kCreate,
                             .group = "",
                             .version = request.resource().version,
                             .resource = "serviceaccounts",
                             .subresource = "token",
                             .kind = "TokenRequest",
                             .ns = request.call.ns,
                             .name = request.call.name,
                             .user = request.user,
                             .dry_run = request.call.dry_run,
                             .object = body};
  return core.AdmitOther(admission);
}

}  // namespace

void RegisterTokens(Core& core, std::shared_ptr<ServiceAccountTokens> tokens,
                    std::vector<std::shared_ptr<Authenticator>> others) {
  core.AddHandler("/serviceaccounts/token", [tokens](Core& server, ApiRequest request,
                                                     const KindPtr& /*kind*/, Done done) {
    if (request.call.verb != client::Verb::kCreate) {
      return done(std::unexpected(MethodNotAllowedError()));
    }
    std::vector<std::string> warnings;
    Result<json::Value> body = ReadOther(
        {.api_version = "authentication.k8s.io/v1", .kind = "TokenRequest"}, request, warnings);
    if (!body) return done(std::unexpected(std::move(body.error())));
    if (Status admitted = AdmitToken(server, request, *body); !admitted) {
      return done(std::unexpected(std::move(admitted.error())));
    }
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
    if (token.empty()) return done(BadInput("token is required for TokenReview in authentication"));
    std::vector<std::string> audiences;
    for (const json::Value& audience : review->At({"spec", "audiences"}).Items()) {
      audiences.emplace_back(audience.AsString());
    }
    Result<Reviewed> reviewed = ReviewedUser(*tokens, others, token, std::move(audiences));
    review->Set("status", reviewed ? ReviewStatus(std::move(reviewed->user), reviewed->audiences)
                                   : json::Value::Object({{"user", json::Value::Object()},
                                                          {"error", reviewed.error().message}}));
    done(Answer{.code = 201, .object = std::move(*review)});
  });
}

}  // namespace drachma::apiserver
