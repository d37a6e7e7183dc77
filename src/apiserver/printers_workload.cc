// apps, batch, autoscaling and the core kinds that run pods.
#include <fmt/format.h>

#include "apiserver/human.h"
#include "apiserver/printers.h"

namespace drachma::apiserver {
namespace {

const json::Value& PodSpecOf(const json::Value& object) {
  return object["spec"]["template"]["spec"];
}

void PrintPodTemplate(const json::Value& object, Ages& /*ages*/, Cells& cells) {
  cells.Add(NameOf(object));
  AddContainers(object["template"]["spec"]["containers"], cells);
  cells.Add(FormatLabels(object["template"]["metadata"]["labels"]));
}

// Desired, current, ready.
void AddReplicas(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["spec"]["replicas"].AsInt())
      .Add(object["status"]["replicas"].AsInt())
      .Add(object["status"]["readyReplicas"].AsInt())
      .Add(CreatedAgo(object, ages));
  AddContainers(PodSpecOf(object)["containers"], cells);
}

void PrintReplicationController(const json::Value& object, Ages& ages, Cells& cells) {
  AddReplicas(object, ages, cells);
  cells.Add(FormatLabels(object["spec"]["selector"]));
}

void PrintReplicaSet(const json::Value& object, Ages& ages, Cells& cells) {
  AddReplicas(object, ages, cells);
  cells.Add(FormatLabelSelector(object["spec"]["selector"]));
}

std::string ReadyOf(const json::Value& object) {
  return fmt::format("{}/{}", object["status"]["readyReplicas"].AsInt(),
                     object["spec"]["replicas"].AsInt());
}

void PrintDeployment(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(ReadyOf(object))
      .Add(object["status"]["updatedReplicas"].AsInt())
      .Add(object["status"]["availableReplicas"].AsInt())
      .Add(CreatedAgo(object, ages));
  AddContainers(PodSpecOf(object)["containers"], cells);
  cells.Add(LabelSelectorText(object["spec"]["selector"]));
}

void PrintStatefulSet(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object)).Add(ReadyOf(object)).Add(CreatedAgo(object, ages));
  AddContainers(PodSpecOf(object)["containers"], cells);
}

void PrintDaemonSet(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& status = object["status"];
  cells.Add(NameOf(object))
      .Add(status["desiredNumberScheduled"].AsInt())
      .Add(status["currentNumberScheduled"].AsInt())
      .Add(status["numberReady"].AsInt())
      .Add(status["updatedNumberScheduled"].AsInt())
      .Add(status["numberAvailable"].AsInt())
      .Add(FormatLabels(PodSpecOf(object)["nodeSelector"]))
      .Add(CreatedAgo(object, ages));
  AddContainers(PodSpecOf(object)["containers"], cells);
  cells.Add(FormatLabelSelector(object["spec"]["selector"]));
}

std::string JobStatus(const json::Value& job) {
  const auto holds = [&](std::string_view type) {
    return ConditionOf(job, type)["status"].AsString() == "True";
  };
  if (holds("Complete")) return "Complete";
  if (holds("Failed")) return "Failed";
  if (job["metadata"].Has("deletionTimestamp")) return "Terminating";
  for (const char* type : {"Suspended", "FailureTarget", "SuccessCriteriaMet"}) {
    if (holds(type)) return type;
  }
  return "Running";
}

std::string JobCompletions(const json::Value& job) {
  const json::Value& spec = job["spec"];
  const std::int64_t succeeded = job["status"]["succeeded"].AsInt();
  if (spec["completions"].IsInt()) {
    return fmt::format("{}/{}", succeeded, spec["completions"].AsInt());
  }
  const std::int64_t parallelism = spec["parallelism"].AsInt();
  return parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism)
                         : fmt::format("{}/1", succeeded);
}

std::string JobDuration(const json::Value& job, Ages& ages) {
  const Result<Time> start = ParseTime(job["status"]["startTime"].AsString());
  if (!start) return {};
  const Result<Time> end = ParseTime(job["status"]["completionTime"].AsString());
  return end ? HumanDuration(*end - *start) : ages.Since(*start);
}

void PrintJob(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(JobStatus(object))
      .Add(JobCompletions(object))
      .Add(JobDuration(object, ages))
      .Add(CreatedAgo(object, ages));
  AddContainers(PodSpecOf(object)["containers"], cells);
  cells.Add(FormatLabelSelector(object["spec"]["selector"]));
}

std::string BoolText(const json::Value& value) {
  if (!value.IsBool()) return "<unset>";
  return value.AsBool() ? "True" : "False";
}

void PrintCronJob(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  const json::Value& last = object["status"]["lastScheduleTime"];
  const json::Value& job = spec["jobTemplate"]["spec"];
  cells.Add(NameOf(object))
      .Add(spec["schedule"].AsString())
      .Add(TextOr(spec["timeZone"], "<none>"))
      .Add(BoolText(spec["suspend"]))
      .Add(static_cast<std::int64_t>(object["status"]["active"].size()))
      .Add(last.IsNull() ? "<none>" : AgeOf(last, ages))
      .Add(CreatedAgo(object, ages));
  AddContainers(job["template"]["spec"]["containers"], cells);
  cells.Add(FormatLabelSelector(job["selector"]));
}

void PrintControllerRevision(const json::Value& object, Ages& ages, Cells& cells) {
  std::string controller = "<none>";
  for (const json::Value& owner : object["metadata"]["ownerReferences"].Items()) {
    if (!owner["controller"].AsBool()) continue;
    std::string kind(owner["kind"].AsString());
    for (char& c : kind) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::string_view version = owner["apiVersion"].AsString();
    const std::size_t slash = version.find('/');
    controller = fmt::format("{}{}{}/{}", kind, slash == std::string_view::npos ? "" : ".",
                             slash == std::string_view::npos ? "" : version.substr(0, slash),
                             owner["name"].AsString());
    break;
  }
  cells.Add(NameOf(object))
      .Add(controller)
      .Add(object["revision"].AsInt())
      .Add(CreatedAgo(object, ages));
}

// --- HorizontalPodAutoscaler: "cpu: 12%/50%" per metric.

// One kind of metric: the member that holds it, and how its two values are shown.
struct MetricForm {
  std::string_view type;
  std::string_view member;
  bool named;  // "name: current/target", with utilization in percent
};
constexpr MetricForm kMetricForms[] = {
    {"External", "external", false},
    {"Pods", "pods", false},
    {"Object", "object", false},
    {"Resource", "resource", true},
    {"ContainerResource", "containerResource", true},
};

std::string PercentOr(const json::Value& value, std::string_view fallback) {
  return value.IsInt() ? fmt::format("{}%", value.AsInt()) : std::string(fallback);
}

std::string MetricText(const MetricForm& form, const json::Value& spec, const json::Value& status) {
  const json::Value& target = spec[form.member]["target"];
  const json::Value& current = status[form.member]["current"];
  const bool average = target.Has("averageValue");
  const std::string name =
      form.named ? fmt::format("{}: ", spec[form.member]["name"].AsString()) : "";
  if (average || form.member == "pods") {
    const char* suffix = form.named || form.member == "pods" ? "" : " (avg)";
    return fmt::format("{}{}/{}{}", name, TextOr(current["averageValue"], "<unknown>"),
                       target["averageValue"].AsString("0"), suffix);
  }
  if (form.named) {
    return fmt::format("{}{}/{}", name, PercentOr(current["averageUtilization"], "<unknown>"),
                       PercentOr(target["averageUtilization"], "<auto>"));
  }
  return fmt::format("{}/{}", TextOr(current["value"], "<unknown>"), target["value"].AsString("0"));
}

std::string MetricsText(const json::Value& specs, const json::Value& statuses) {
  constexpr std::size_t kShownMax = 2;
  if (specs.empty()) return "<none>";
  static const json::Value kNone;
  std::string text;
  for (std::size_t i = 0; i < std::min(specs.size(), kShownMax); ++i) {
    const json::Value& spec = specs.Items()[i];
    const json::Value& status = i < statuses.size() ? statuses.Items()[i] : kNone;
    if (i > 0) text += ", ";
    std::string metric = "<unknown type>";
    for (const MetricForm& form : kMetricForms) {
      if (form.type == spec["type"].AsString()) metric = MetricText(form, spec, status);
    }
    text += metric;
  }
  if (specs.size() > kShownMax) text += fmt::format(" + {} more...", specs.size() - kShownMax);
  return text;
}

void PrintHorizontalPodAutoscaler(const json::Value& object, Ages& ages, Cells& cells) {
  const json::Value& spec = object["spec"];
  const json::Value& target = spec["scaleTargetRef"];
  cells.Add(NameOf(object))
      .Add(fmt::format("{}/{}", target["kind"].AsString(), target["name"].AsString()))
      .Add(MetricsText(spec["metrics"], object["status"]["currentMetrics"]))
      .Add(spec["minReplicas"].IsInt() ? std::to_string(spec["minReplicas"].AsInt()) : "<unset>")
      .Add(spec["maxReplicas"].AsInt())
      .Add(object["status"]["currentReplicas"].AsInt())
      .Add(CreatedAgo(object, ages));
}

void PrintScale(const json::Value& object, Ages& ages, Cells& cells) {
  cells.Add(NameOf(object))
      .Add(object["spec"]["replicas"].AsInt())
      .Add(object["status"]["replicas"].AsInt())
      .Add(CreatedAgo(object, ages));
}

}  // namespace

const std::vector<PrinterEntry>& WorkloadPrinters() {
  static const std::vector<PrinterEntry> kPrinters = {
      {"", "PodTemplate", PrintPodTemplate},
      {"", "ReplicationController", PrintReplicationController},
      {"apps", "ReplicaSet", PrintReplicaSet},
      {"apps", "Deployment", PrintDeployment},
      {"apps", "StatefulSet", PrintStatefulSet},
      {"apps", "DaemonSet", PrintDaemonSet},
      {"apps", "ControllerRevision", PrintControllerRevision},
      {"batch", "Job", PrintJob},
      {"batch", "CronJob", PrintCronJob},
      {"autoscaling", "HorizontalPodAutoscaler", PrintHorizontalPodAutoscaler},
      {"autoscaling", "Scale", PrintScale},
  };
  return kPrinters;
}

}  // namespace drachma::apiserver
