#include "apiserver/subresources.h"

#include <fmt/format.h>

#include <utility>

#include "api/conversion.h"
#include "apiserver/codec.h"
#include "apiserver/status.h"
#include "apiserver/transforms.h"
#include "json/json.h"

namespace drachma::apiserver {

void RegisterSubresources(Core& core) {
  RegisterScale(core);
  RegisterPodSubresources(core);
  RegisterEviction(core);
  RegisterReviews(core);
}

void UpdateDirectly(Core& core, const ApiRequest& request, const KindPtr& kind,
                    const std::string& ns, const std::string& name, Transform transform,
                    Done done) {
  auto job = std::make_shared<WriteJob>();
  job->request = request;
  job->kind = kind;
  job->ns = ns;
  job->name = name;
  job->strategy = WriteJob::Strategy::kSkip;
  job->transform = std::move(transform);
  job->done = std::move(done);
  core.Run(std::move(job));
}

namespace {

// The Scale that a PATCH of the present one makes.
Result<json::Value> PatchedScale(const json::Value& scale, const ApiRequest& request,
                                 const ParsedBody& patch) {
  switch (request.call.patch) {
    case client::PatchType::kJson: {
      Result<json::Value> patched = json::JsonPatch(scale, patch.object);
      if (!patched && patched.error().code == Code::kInvalid) {
        return Fail(Code::kInvalid,
                    "the server rejected our request due to an error in our request");
      }
      return patched;
    }
    case client::PatchType::kMerge:
    case client::PatchType::kStrategicMerge:
    case client::PatchType::kApply:
      return json::MergePatch(scale, patch.object);
    case client::PatchType::kNone:
      break;
  }
  return Fail(Code::kUnsupportedMediaType, "415: Unsupported Media Type");
}

// Writes the replicas of `scale` into the workload, through the workload's own strategy.
void WriteScale(Core& core, ApiRequest request, const KindPtr& kind, const ScaleForm& form,
                std::function<Result<json::Value>(const json::Value& scale)> make, Done done) {
  auto job = std::make_shared<WriteJob>();
  job->kind = kind;
  job->ns = request.call.ns;
  job->name = request.call.name;
  job->transform = [make = std::move(make), form,
                    name = job->name](const json::Value& existing) -> Result<json::Value> {
    DRA_ASSIGN(const json::Value present, form.read(existing));
    DRA_ASSIGN(const json::Value scale, make(present));
    DRA_TRY(CheckName(scale, name));
    const std::string_view wanted = scale["metadata"]["resourceVersion"].AsString();
    json::Value updated = existing;
    if (!wanted.empty()) updated.Edit("metadata").Set("resourceVersion", wanted);
    const json::Value& uid = scale["metadata"]["uid"];
    if (!uid.AsString().empty() && uid != existing["metadata"]["uid"]) {
      return std::unexpected(ConflictError("", "", name, "the UID does not match"));
    }
    return form.write(std::move(updated), scale["spec"]["replicas"].AsInt());
  };
  job->request = std::move(request);
  job->done = [form, done = std::move(done)](Result<Answer> answer) mutable {
    if (!answer) return done(std::move(answer));
    Result<json::Value> scale = form.read(answer->Object());
    if (!scale) return done(std::unexpected(std::move(scale.error())));
    answer->object = std::move(*scale);
    answer->record = nullptr;
    answer->kind = nullptr;
    done(std::move(answer));
  };
  core.Run(std::move(job));
}

}  // namespace

void HandleScaleAs(Core& core, ApiRequest request, const KindPtr& kind, ScaleForm form, Done done) {
  switch (request.call.verb) {
    case client::Verb::kGet: {
      Result<store::RecordPtr> record = core.Find(*kind, request.call.ns, request.call.name);
      if (!record) return done(std::unexpected(std::move(record.error())));
      Result<json::Value> scale = form.get((*record)->Object());
      if (!scale) return done(std::unexpected(std::move(scale.error())));
      return done(Answer{.object = std::move(*scale)});
    }
    case client::Verb::kUpdate: {
      std::vector<std::string> warnings;
      Result<json::Value> scale =
          ReadOther({.api_version = "autoscaling/v1", .kind = "Scale"}, request, warnings);
      if (!scale) return done(std::unexpected(std::move(scale.error())));
      return WriteScale(
          core, std::move(request), kind, form,
          [scale = std::move(*scale)](const json::Value&) -> Result<json::Value> { return scale; },
          std::move(done));
    }
    case client::Verb::kPatch: {
      Result<ParsedBody> patch = ParsePatch(request);
      if (!patch) return done(std::unexpected(std::move(patch.error())));
      return WriteScale(
          core, request, kind, form,
          [request, patch = std::move(*patch)](const json::Value& scale) {
            return PatchedScale(scale, request, patch);
          },
          std::move(done));
    }
    default:
      return done(std::unexpected(MethodNotAllowedError()));
  }
}

namespace {

Result<json::Value> ScaleOfWorkload(const json::Value& object) { return api::ScaleOf(object); }

// Workloads keep their replicas in spec. ERRORS: kInvalid for negative ones.
Result<json::Value> SetReplicas(json::Value object, std::int64_t replicas) {
  if (replicas < 0) {
    return std::unexpected(InvalidFieldError(
        "autoscaling", "Scale", object["metadata"]["name"].AsString(), "spec.replicas",
        "FieldValueInvalid",
        fmt::format("Invalid value: {}: must be greater than or equal to 0", replicas)));
  }
  object.Edit("spec").Set("replicas", replicas);
  return object;
}

void HandleScale(Core& core, ApiRequest request, const KindPtr& kind, Done done) {
  HandleScaleAs(core, std::move(request), kind,
                {.get = ScaleOfWorkload, .read = ScaleOfWorkload, .write = SetReplicas},
                std::move(done));
}

}  // namespace

void RegisterScale(Core& core) {
  for (const char* key : {"apps/deployments/scale", "apps/replicasets/scale",
                          "apps/statefulsets/scale", "/replicationcontrollers/scale"}) {
    core.AddHandler(key, HandleScale);
  }
}

}  // namespace drachma::apiserver
