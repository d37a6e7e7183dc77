// Questions about access: answered, never stored.
#include <fmt/format.h>

#include <utility>

#include "apiserver/codec.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"
#include "json/json.h"

namespace drachma::apiserver {
namespace {

json::Value Texts(const std::vector<std::string>& texts) {
  json::Value list = json::Value::Array();
  for (const std::string& text : texts) list.Append(text);
  return list;
}

std::vector<std::string> TextsOf(const json::Value& list) {
  std::vector<std::string> texts;
  for (const json::Value& item : list.Items()) texts.emplace_back(item.AsString());
  return texts;
}

json::Value UserInfo(const User& user) {
  json::Value info = json::Value::Object({{"username", user.name}});
  if (!user.uid.empty()) info.Set("uid", user.uid);
  if (!user.groups.empty()) info.Set("groups", Texts(user.groups));
  for (const auto& [key, values] : user.extra) info.Edit("extra").Set(key, Texts(values));
  return info;
}

User UserOf(const json::Value& spec) {
  User user{.name = std::string(spec["user"].AsString()),
            .uid = std::string(spec["uid"].AsString()),
            .groups = TextsOf(spec["groups"])};
  for (const json::Member& member : spec["extra"].Members()) {
    user.extra[std::string(member.key())] = TextsOf(member.value);
  }
  return user;
}

Attributes AttributesOf(const json::Value& spec, User user) {
  const json::Value& resource = spec["resourceAttributes"];
  const json::Value& path = spec["nonResourceAttributes"];
  const auto text = [](const json::Value& value) { return std::string(value.AsString()); };
  if (resource.IsObject()) {
    return {.user = std::move(user),
            .verb = text(resource["verb"]),
            .is_resource = true,
            .group = text(resource["group"]),
            .version = text(resource["version"]),
            .resource = text(resource["resource"]),
            .subresource = text(resource["subresource"]),
            .ns = text(resource["namespace"]),
            .name = text(resource["name"])};
  }
  return {.user = std::move(user),
          .verb = text(path["verb"]),
          .is_resource = false,
          .path = text(path["path"])};
}

// A fault of a review, in upstream's words: the kind stays empty there.
Status Fault(std::string_view field, std::string_view value, std::string_view why) {
  return std::unexpected(InvalidFieldError("authorization.k8s.io", "", "", field,
                                           "FieldValueInvalid",
                                           fmt::format("Invalid value: {}: {}", value, why)));
}

// nonResourceAttributes as faults show it.
std::string ShownPath(const json::Value& path) {
  if (!path.IsObject()) return "null";
  return json::Write(
      json::Value::Object({{"Path", path["path"].AsString()}, {"Verb", path["verb"].AsString()}}));
}

// One of resourceAttributes and nonResourceAttributes must be there.
Status CheckSpec(const json::Value& review) {
  const bool resource = review["spec"]["resourceAttributes"].IsObject();
  const json::Value& path = review["spec"]["nonResourceAttributes"];
  if (resource != path.IsObject()) return {};
  return Fault("spec", ShownPath(path),
               "exactly one of nonResourceAttributes or resourceAttributes must be specified");
}

// Reviews of others must say of whom.
Status CheckSubject(const json::Value& review) {
  DRA_TRY(CheckSpec(review));
  const json::Value& spec = review["spec"];
  if (!spec["user"].AsString().empty() || !spec["groups"].empty()) return {};
  return Fault("spec.user", "\"\"", "at least one of user or group must be specified");
}

Status CheckLocal(const json::Value& review) {
  DRA_TRY(CheckSubject(review));
  const json::Value& resource = review["spec"]["resourceAttributes"];
  const json::Value& path = review["spec"]["nonResourceAttributes"];
  const std::string_view wanted = resource["namespace"].AsString();
  if (resource.IsObject() && wanted != review["metadata"]["namespace"].AsString()) {
    return Fault("spec.resourceAttributes.namespace", fmt::format("\"{}\"", wanted),
                 "must match metadata.namespace");
  }
  if (!path.IsObject()) return {};
  return Fault("spec.nonResourceAttributes", ShownPath(path), "disallowed on this kind of request");
}

void AnswerAccess(Core& core, json::Value review, User user, Done done) {
  std::string reason;
  Attributes attributes = AttributesOf(review["spec"], std::move(user));
  attributes.explain = true;
  const Decision decision = core.Ask(attributes, reason);
  json::Value status = json::Value::Object({{"allowed", decision == Decision::kAllow}});
  if (decision == Decision::kDeny) status.Set("denied", true);
  if (!reason.empty()) status.Set("reason", reason);
  review.Set("status", std::move(status));
  done(Answer{.code = 201, .object = std::move(review)});
}

using ReviewHandler = void (*)(Core& core, const ApiRequest& request, json::Value review,
                               Done done);

void SelfSubjectAccessReview(Core& core, const ApiRequest& request, json::Value review, Done done) {
  if (Status fits = CheckSpec(review); !fits) {
    return done(std::unexpected(std::move(fits.error())));
  }
  AnswerAccess(core, std::move(review), request.user, std::move(done));
}

void SubjectAccessReview(Core& core, const ApiRequest& /*request*/, json::Value review, Done done) {
  if (Status fits = CheckSubject(review); !fits) {
    return done(std::unexpected(std::move(fits.error())));
  }
  User user = UserOf(review["spec"]);
  AnswerAccess(core, std::move(review), std::move(user), std::move(done));
}

void LocalSubjectAccessReview(Core& core, const ApiRequest& request, json::Value review,
                              Done done) {
  if (review["metadata"]["namespace"].AsString().empty()) {
    review.Edit("metadata").Set("namespace", request.call.ns);
  }
  if (Status fits = CheckLocal(review); !fits) {
    return done(std::unexpected(std::move(fits.error())));
  }
  User user = UserOf(review["spec"]);
  AnswerAccess(core, std::move(review), std::move(user), std::move(done));
}

void SelfSubjectReview(Core& core, const ApiRequest& request, json::Value review, Done done) {
  review.Edit("metadata").Set("creationTimestamp", FormatTime(core.Now()));
  review.Set("status", json::Value::Object({{"userInfo", UserInfo(request.user)}}));
  done(Answer{.code = 201, .object = std::move(review)});
}

void SelfSubjectRulesReview(Core& core, const ApiRequest& request, json::Value review, Done done) {
  const std::string ns(review.At({"spec", "namespace"}).AsString());
  if (ns.empty()) return done(BadInput("no namespace on request"));
  std::vector<Rule> rules;
  const std::string fault = core.RulesOf(request.user, ns, rules);
  json::Value resources = json::Value::Array();
  json::Value paths = json::Value::Array();
  for (const Rule& rule : rules) {
    if (!rule.non_resource_urls.empty()) {
      paths.Append(json::Value::Object(
          {{"verbs", Texts(rule.verbs)}, {"nonResourceURLs", Texts(rule.non_resource_urls)}}));
    }
    if (rule.resources.empty()) continue;
    json::Value entry = json::Value::Object({{"verbs", Texts(rule.verbs)},
                                             {"apiGroups", Texts(rule.api_groups)},
                                             {"resources", Texts(rule.resources)}});
    if (!rule.resource_names.empty()) entry.Set("resourceNames", Texts(rule.resource_names));
    resources.Append(std::move(entry));
  }
  review.Set("status", json::Value::Object({{"resourceRules", std::move(resources)},
                                            {"nonResourceRules", std::move(paths)},
                                            {"incomplete", !fault.empty()}}));
  if (!fault.empty()) review.Edit("status").Set("evaluationError", fault);
  done(Answer{.code = 201, .object = std::move(review)});
}

struct ReviewEntry {
  std::string_view group;
  std::string_view plural;
  std::string_view kind;
  ReviewHandler handler;
};

constexpr ReviewEntry kReviews[] = {
    {"authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview",
     SelfSubjectAccessReview},
    {"authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", SubjectAccessReview},
    {"authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview",
     LocalSubjectAccessReview},
    {"authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview",
     SelfSubjectRulesReview},
    {"authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", SelfSubjectReview},
};

}  // namespace

void RegisterReviews(Core& core) {
  for (const ReviewEntry& entry : kReviews) {
    core.AddHandler(fmt::format("{}/{}/", entry.group, entry.plural),
                    [entry](Core& server, ApiRequest request, const KindPtr& kind, Done done) {
                      if (request.call.verb != client::Verb::kCreate) {
                        return done(std::unexpected(MethodNotAllowedError()));
                      }
                      std::vector<std::string> warnings;
                      Result<json::Value> review =
                          ReadOther({.api_version = kind->ApiVersion(request.resource().version),
                                     .kind = std::string(entry.kind)},
                                    request, warnings);
                      if (!review) return done(std::unexpected(std::move(review.error())));
                      entry.handler(server, request, std::move(*review), std::move(done));
                    });
  }
}

}  // namespace drachma::apiserver
