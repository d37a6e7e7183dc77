// Binding, namespaces/finalize, and the subresources that would need a kubelet.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "apiserver/codec.h"
#include "apiserver/conditions.h"
#include "apiserver/status.h"
#include "apiserver/subresources.h"
#include "apiserver/transforms.h"

namespace drachma::apiserver {
namespace {

// The pod with its node, or why it cannot get one (BindingREST.setPodNodeAndMetadata).
Result<json::Value> BoundPod(const json::Value& pod, const json::Value& binding,
                             const std::string& name, const std::string& now) {
  const auto refuse = [&](std::string why) {
    return std::unexpected(ConflictError("", "pods/binding", name, why));
  };
  const json::Value& wanted = binding["metadata"];
  for (const char* field : {"uid", "resourceVersion"}) {
    const std::string_view value = wanted[field].AsString();
    if (!value.empty() && value != pod["metadata"][field].AsString()) {
      const char* shown = std::string_view(field) == "uid" ? "UID" : "ResourceVersion";
      return std::unexpected(ConflictError(
          "", "pods", name,
          fmt::format("Precondition failed: {} in precondition: {}, {} in object meta: {}", shown,
                      value, shown, pod["metadata"][field].AsString())));
    }
  }
  if (pod["metadata"].Has("deletionTimestamp")) {
    return refuse(fmt::format("pod {} is being deleted, cannot be assigned to a host", name));
  }
  if (const std::string_view node = pod["spec"]["nodeName"].AsString(); !node.empty()) {
    return refuse(fmt::format("pod {} is already assigned to node \"{}\"", name, node));
  }
  if (!pod["spec"]["schedulingGates"].empty()) {
    return refuse(fmt::format("pod {} has non-empty .spec.schedulingGates", name));
  }
  json::Value bound = pod;
  bound.Edit("spec").Set("nodeName", binding["target"]["name"]);
  bound.Edit("status").Erase("nominatedNodeName");
  for (const char* field : {"annotations", "labels"}) {
    for (const json::Member& member : wanted[field].Members()) {
      bound.Edit("metadata").Edit(field).Set(member.key(), member.value);
    }
  }
  SetPodCondition(bound, {.type = "PodScheduled", .status = "True"}, now);
  return bound;
}

Status CheckBinding(const json::Value& binding) {
  const std::string_view kind = binding["target"]["kind"].AsString();
  if (!kind.empty() && kind != "Node") {
    return Fail(Code::kUnknown,
                fmt::format("target.kind: Unsupported value: \"{}\": supported values: \"Node\", "
                            "\"<empty>\"",
                            kind));
  }
  if (binding["target"]["name"].AsString().empty()) {
    return Fail(Code::kUnknown, "target.name: Required value");
  }
  return {};
}

// POST pods/NAME/binding and POST bindings.
void HandleBinding(Core& core, ApiRequest request, const KindPtr& /*kind*/, Done done) {
  if (request.call.verb != client::Verb::kCreate) {
    return done(std::unexpected(MethodNotAllowedError()));
  }
  std::vector<std::string> warnings;
  Result<json::Value> binding =
      ReadOther({.api_version = "v1", .kind = "Binding"}, request, warnings);
  if (!binding) return done(std::unexpected(std::move(binding.error())));
  const std::string name(binding->At({"metadata", "name"}).AsString());
  if (!request.call.name.empty() && name != request.call.name) {
    return done(BadInput("name in URL does not match name in Binding object"));
  }
  if (Status fits = CheckBinding(*binding); !fits) {
    return done(std::unexpected(std::move(fits.error())));
  }
  const KindPtr pods = core.kinds().Find("", "pods");
  const std::string ns = request.call.ns;
  UpdateDirectly(
      core, request, pods, ns, name,
      [binding = std::move(*binding), name, now = FormatTime(core.Now())](const json::Value& pod) {
        return BoundPod(pod, binding, name, now);
      },
      [done = std::move(done)](Result<Answer> answer) mutable {
        if (!answer) return done(std::move(answer));
        done(Answer{.code = 201, .object = SuccessStatus(nullptr, 201)});
      });
}

// Simulated nodes name their runtime; one that is gone runs nothing, either.
bool IsSimulated(const json::Value& node) {
  const std::string_view runtime =
      node["status"]["nodeInfo"]["containerRuntimeVersion"].AsString("drachma://");
  return runtime.starts_with("drachma://");
}

// What answers instead of a kubelet.
void HandleKubelet(Core& core, ApiRequest request, const KindPtr& kind, Done done) {
  const Result<store::RecordPtr> pod = core.Find(*kind, request.call.ns, request.call.name);
  if (!pod) return done(std::unexpected(pod.error()));
  const std::string& what = request.call.subresource;
  if ((*pod)->Object()["spec"]["nodeName"].AsString().empty()) {
    // A pod that nobody runs has written nothing yet (registry/core/pod's LogLocation).
    if (what == "log") return done(Answer{.text = std::string()});
    return done(BadInput(fmt::format("pod {} does not have a host assigned", request.call.name)));
  }
  const std::string node((*pod)->Object()["spec"]["nodeName"].AsString());
  const std::string_view wanted =
      what == "log" ? "read logs from" : std::string_view(what).substr(0, what.find('/'));
  if (IsSimulated(core.Get("", "nodes", "", node))) {
    return done(Fail(Code::kNotFound,
                     fmt::format("the node \"{}\" is simulated: no container runs there, so there "
                                 "is nothing to {} in pod \"{}\"",
                                 node, wanted, request.call.name)));
  }
  done(Fail(Code::kNotFound,
            fmt::format("this server does not ask kubelets: to {} pod \"{}\" use crictl on node "
                        "\"{}\"",
                        wanted, request.call.name, node)));
}

// PUT namespaces/NAME/finalize: replaces spec.finalizers; the last one gone ends a namespace that
// is being deleted.
void HandleFinalize(Core& core, ApiRequest request, const KindPtr& kind, Done done) {
  if (request.call.verb != client::Verb::kUpdate) {
    return done(std::unexpected(MethodNotAllowedError()));
  }
  auto job = std::make_shared<WriteJob>();
  Result<json::Value> object = ReadObject(*kind, request, core.Now(), job->warnings);
  if (!object) return done(std::unexpected(std::move(object.error())));
  if (Status named = CheckName(*object, request.call.name); !named) {
    return done(std::unexpected(std::move(named.error())));
  }
  job->kind = kind;
  job->name = request.call.name;
  job->strategy = WriteJob::Strategy::kSkip;
  job->uid_precondition = object->At({"metadata", "uid"}).AsString();
  job->transform = [object = std::move(*object), kind,
                    name = job->name](const json::Value& existing) -> Result<json::Value> {
    const std::string_view wanted = object["metadata"]["resourceVersion"].AsString();
    if (!wanted.empty() && wanted != existing["metadata"]["resourceVersion"].AsString()) {
      return std::unexpected(ModifiedError("", "namespaces", name));
    }
    json::Value updated = existing;
    const json::Value& finalizers = object["spec"]["finalizers"];
    if (finalizers.empty()) {
      updated.Edit("spec").Erase("finalizers");
    } else {
      updated.Edit("spec").Set("finalizers", finalizers);
    }
    return updated;
  };
  job->request = std::move(request);
  job->done = std::move(done);
  core.Run(std::move(job));
}

}  // namespace

void RegisterPodSubresources(Core& core) {
  core.AddHandler("/pods/binding", HandleBinding);
  core.AddHandler("/bindings/", HandleBinding);
  for (const char* name : {"log", "exec", "attach", "portforward", "proxy"}) {
    core.AddHandler(fmt::format("/pods/{}", name), HandleKubelet);
  }
  core.AddHandler("/namespaces/finalize", HandleFinalize);
}

}  // namespace drachma::apiserver
