#include "apiserver/service_account_tokens.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "api/kinds.h"
#include "apiserver/status.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

using json::Value;

// Objects that a token may be bound to, and their claim below "kubernetes.io".
struct BoundKind {
  std::string_view kind;
  std::string_view plural;
  std::string_view claim;
  bool namespaced;
};
constexpr auto kBoundKinds = std::to_array<BoundKind>({
    {"Pod", "pods", "pod", true},
    {"Secret", "secrets", "secret", true},
    {"Node", "nodes", "node", false},
});

// What upstream says of a token that nobody takes for his own.
constexpr std::string_view kNotOurs = "invalid bearer token";

constexpr std::string_view kExtraPrefix = "authentication.kubernetes.io/";

Value Reference(const Value& object) {
  return Value::Object({{"name", object["metadata"]["name"]}, {"uid", object["metadata"]["uid"]}});
}

std::unexpected<Error> NotFound(std::string_view plural, std::string_view name) {
  return std::unexpected(Error{.code = Code::kNotFound,
                               .message = fmt::format("{} \"{}\" not found", plural, name),
                               .kind = std::string(plural),
                               .name = std::string(name)});
}

std::unexpected<Error> Unauthorized(std::string message) {
  return Fail(Code::kUnauthorized, std::move(message));
}

std::int64_t Seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

std::vector<std::string> Audiences(const Value& claim) {
  std::vector<std::string> audiences;
  for (const Value& audience : claim.Items()) audiences.emplace_back(audience.AsString());
  if (claim.IsString()) audiences.emplace_back(claim.AsString());
  return audiences;
}

// The parts of "head.claims.signature".
struct Parts {
  std::string_view signed_part;
  std::string_view head;
  std::string_view claims;
  std::string_view signature;
};

std::optional<Parts> SplitToken(std::string_view token) {
  const std::size_t first = token.find('.');
  const std::size_t last = token.rfind('.');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  return Parts{.signed_part = token.substr(0, last),
               .head = token.substr(0, first),
               .claims = token.substr(first + 1, last - first - 1),
               .signature = token.substr(last + 1)};
}

Result<Value> DecodePart(std::string_view part) {
  DRA_ASSIGN(const std::string text, net::Base64UrlDecode(part));
  return json::Read(text);
}

User UserOf(const Value& claims) {
  const Value& own = claims["kubernetes.io"];
  User user = ServiceAccountUser(std::string(own["namespace"].AsString()),
                                 std::string(own["serviceaccount"]["name"].AsString()));
  user.uid = own["serviceaccount"]["uid"].AsString();
  const auto extra = [&](std::string_view name, std::string value) {
    if (!value.empty()) user.extra[fmt::format("{}{}", kExtraPrefix, name)] = {std::move(value)};
  };
  for (const std::string_view object : {"pod", "node"}) {
    extra(fmt::format("{}-name", object), std::string(own[object]["name"].AsString()));
    extra(fmt::format("{}-uid", object), std::string(own[object]["uid"].AsString()));
  }
  if (claims["jti"].IsString())
    extra("credential-id", fmt::format("JTI={}", claims["jti"].AsString()));
  return user;
}

}  // namespace

Result<Value> ServiceAccountTokens::BoundClaims(std::string_view ns, const Value& account,
                                                const Value& bound) const {
  Value claims = Value::Object({{"namespace", ns}, {"serviceaccount", Reference(account)}});
  if (bound.IsNull()) return claims;
  const auto kind = std::ranges::find(kBoundKinds, bound["kind"].AsString(), &BoundKind::kind);
  if (kind == kBoundKinds.end()) {
    const auto parts = api::SplitGroupVersion(bound["apiVersion"].AsString());
    return BadInput(fmt::format("cannot bind token to object of type {}/{}, Kind={}", parts.group,
                                parts.version, bound["kind"].AsString()));
  }
  const std::string_view name = bound["name"].AsString();
  const Value object = objects_.Get("", kind->plural, kind->namespaced ? ns : "", name);
  if (object.IsNull()) return NotFound(kind->plural, name);
  const std::string_view uid = object["metadata"]["uid"].AsString();
  if (kind->kind == "Pod" &&
      !(object["spec"]["serviceAccountName"] == account["metadata"]["name"])) {
    return BadInput(
        fmt::format("cannot bind token for serviceaccount \"{}\" to pod running with "
                    "different serviceaccount name.",
                    account["metadata"]["name"].AsString()));
  }
  if (bound["uid"].IsString() && bound["uid"].AsString() != uid) {
    return std::unexpected(ConflictError(
        "", kind->kind, name,
        fmt::format("the UID in the bound object reference ({}) does not match the UID in "
                    "record. The object might have been deleted and then recreated",
                    bound["uid"].AsString())));
  }
  claims.Set(kind->claim, Reference(object));
  if (kind->kind != "Pod") return claims;
  const Value node = objects_.Get("", "nodes", "", object["spec"]["nodeName"].AsString());
  if (object["spec"]["nodeName"].AsString().empty()) return claims;
  claims.Set("node", node.IsNull() ? Value::Object({{"name", object["spec"]["nodeName"]}})
                                   : Reference(node));
  return claims;
}

Result<Value> ServiceAccountTokens::Issue(std::string_view ns, std::string_view name,
                                          Value token_request) {
  const Value account = objects_.Get("", "serviceaccounts", ns, name);
  if (account.IsNull()) return NotFound("serviceaccounts", name);
  for (const std::string_view field : {"name", "namespace", "uid"}) {
    Value& metadata = token_request.Edit("metadata");
    if (metadata[field].AsString().empty()) metadata.Set(field, account["metadata"][field]);
  }
  Value& spec = token_request.Edit("spec");
  if (spec["audiences"].empty()) spec.Set("audiences", Value::Array({kIssuer}));
  const std::int64_t seconds = spec["expirationSeconds"].AsInt(kExpirationSecondsDefault);
  spec.Set("expirationSeconds", seconds);
  if (seconds < kExpirationSecondsMin || seconds > kExpirationSecondsMax) {
    const std::string detail = seconds < kExpirationSecondsMin
                                   ? "may not specify a duration less than 10 minutes"
                                   : "may not specify a duration larger than 2^32 seconds";
    const std::string shown = fmt::format("Invalid value: {}: {}", seconds, detail);
    return std::unexpected(
        Error{.code = Code::kInvalid,
              .message = fmt::format("TokenRequest.authentication.k8s.io \"\" is invalid: "
                                     "spec.expirationSeconds: {}",
                                     shown),
              .causes = {{"FieldValueInvalid", "spec.expirationSeconds", shown}},
              .group = "authentication.k8s.io",
              .kind = "TokenRequest"});
  }
  DRA_ASSIGN(const Value own, BoundClaims(ns, account, spec["boundObjectRef"]));
  const Time now = clock_.Now();
  const Time expires = now + std::chrono::seconds(seconds);
  token_request.Edit("metadata").Set("creationTimestamp", FormatTime(now));
  const Value claims =
      Value::Object({{"aud", spec["audiences"]},
                     {"exp", Seconds(expires)},
                     {"iat", Seconds(now)},
                     {"iss", kIssuer},
                     {"jti", random_.Uuid()},
                     {"kubernetes.io", own},
                     {"nbf", Seconds(now)},
                     {"sub", fmt::format("system:serviceaccount:{}:{}", ns, name)}});
  const Value head =
      Value::Object({{"alg", net::AlgorithmName(key_.algorithm())}, {"kid", key_.key_id()}});
  const std::string signed_part =
      net::Base64UrlEncode(json::Write(head)) + "." + net::Base64UrlEncode(json::Write(claims));
  DRA_ASSIGN(const std::string signature, key_.Sign(signed_part));
  token_request.Set("status",
                    Value::Object({{"token", signed_part + "." + net::Base64UrlEncode(signature)},
                                   {"expirationTimestamp", FormatTime(expires)}}));
  return token_request;
}

Result<std::optional<User>> ServiceAccountTokens::Authenticate(const Credentials& credentials) {
  const std::string& token = credentials.bearer_token;
  if (token.empty() || token.size() > kTokenBytesMax || !SplitToken(token)) return std::nullopt;
  DRA_ASSIGN(Checked checked, Check(token, {}));
  return std::optional(std::move(checked.user));
}

Result<ServiceAccountTokens::Checked> ServiceAccountTokens::Check(
    std::string_view token, const std::vector<std::string>& audiences) const {
  const std::optional<Parts> parts = SplitToken(token);
  if (!parts) return Unauthorized(std::string(kNotOurs));
  const Result<Value> head = DecodePart(parts->head);
  const Result<Value> claims = DecodePart(parts->claims);
  const Result<std::string> signature = net::Base64UrlDecode(parts->signature);
  if (!head || !claims || !signature) return Unauthorized(std::string(kNotOurs));
  if ((*head)["alg"].AsString() != net::AlgorithmName(key_.algorithm()) ||
      (*head)["kid"].AsString() != key_.key_id() || !key_.Verify(parts->signed_part, *signature)) {
    return Unauthorized("invalid signature");
  }
  if ((*claims)["iss"].AsString() != kIssuer) return Unauthorized("invalid issuer");
  const std::int64_t now = Seconds(clock_.Now());
  if (now >= (*claims)["exp"].AsInt()) return Unauthorized("service account token has expired");
  if (now < (*claims)["nbf"].AsInt()) {
    return Unauthorized("service account token is not valid yet");
  }
  const std::vector<std::string> own = Audiences((*claims)["aud"]);
  const std::vector<std::string> wanted =
      audiences.empty() ? std::vector<std::string>{std::string(kIssuer)} : audiences;
  std::vector<std::string> common;
  std::ranges::copy_if(wanted, std::back_inserter(common), [&](const std::string& audience) {
    return std::ranges::find(own, audience) != own.end();
  });
  if (common.empty()) {
    return Unauthorized(
        fmt::format("[{}, token audiences [\"{}\"] is invalid for the target audiences [\"{}\"]]",
                    kNotOurs, fmt::join(own, "\" \""), fmt::join(wanted, "\" \"")));
  }
  const Value& bound = (*claims)["kubernetes.io"];
  DRA_TRY(CheckBound(bound, bound["namespace"].AsString()));
  return Checked{.user = UserOf(*claims), .audiences = std::move(common)};
}

Status ServiceAccountTokens::CheckBound(const Value& claims, std::string_view ns) const {
  const auto check = [&](std::string_view plural, std::string_view in,
                         const Value& reference) -> Status {
    const Value object = objects_.Get("", plural, in, reference["name"].AsString());
    if (object.IsNull() || object["metadata"]["uid"].AsString() != reference["uid"].AsString()) {
      return Unauthorized("service account token has been invalidated");
    }
    return {};
  };
  DRA_TRY(check("serviceaccounts", ns, claims["serviceaccount"]));
  for (const BoundKind& kind : kBoundKinds) {
    // The node of a pod is told, but does not bind (upstream's ServiceAccountTokenNodeBinding).
    if (!claims.Has(kind.claim) || (kind.claim == "node" && claims.Has("pod"))) continue;
    DRA_TRY(check(kind.plural, kind.namespaced ? ns : "", claims[kind.claim]));
  }
  return {};
}

}  // namespace drachma::apiserver
