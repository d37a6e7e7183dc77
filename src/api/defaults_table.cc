#include "api/defaults_table.h"

namespace drachma::api {

namespace {

constexpr std::string_view kAdmission =
    "admissionregistration/v1 admissionregistration/v1beta1 admissionregistration/v1alpha1";

// Upstream's SetDefaults_* that set a plain value. What OpenAPI declares (protocol TCP and the
// like) stands in the type table already.
constexpr DefaultRow kRows[] = {
    {"core/v1", "PodSpec", "dnsPolicy", R"("ClusterFirst")"},
    {"core/v1", "PodSpec", "restartPolicy", R"("Always")"},
    {"core/v1", "PodSpec", "securityContext", "{}"},
    {"core/v1", "PodSpec", "terminationGracePeriodSeconds", "30"},
    {"core/v1", "PodSpec", "schedulerName", R"("default-scheduler")"},
    {"core/v1", "Container", "terminationMessagePath", R"("/dev/termination-log")"},
    {"core/v1", "Container", "terminationMessagePolicy", R"("File")"},
    {"core/v1", "EphemeralContainerCommon", "terminationMessagePath", R"("/dev/termination-log")"},
    {"core/v1", "EphemeralContainerCommon", "terminationMessagePolicy", R"("File")"},
    {"core/v1", "Probe", "timeoutSeconds", "1"},
    {"core/v1", "Probe", "periodSeconds", "10"},
    {"core/v1", "Probe", "successThreshold", "1"},
    {"core/v1", "Probe", "failureThreshold", "3"},
    {"core/v1", "HTTPGetAction", "path", R"("/")"},
    {"core/v1", "HTTPGetAction", "scheme", R"("HTTP")"},
    {"core/v1", "SecretVolumeSource", "defaultMode", "420"},
    {"core/v1", "ConfigMapVolumeSource", "defaultMode", "420"},
    {"core/v1", "DownwardAPIVolumeSource", "defaultMode", "420"},
    {"core/v1", "ProjectedVolumeSource", "defaultMode", "420"},
    {"core/v1", "ServiceAccountTokenProjection", "expirationSeconds", "3600"},
    {"core/v1", "HostPathVolumeSource", "type", R"("")"},
    {"core/v1", "AzureDiskVolumeSource", "cachingMode", R"("ReadWrite")"},
    {"core/v1", "AzureDiskVolumeSource", "kind", R"("Shared")"},
    {"core/v1", "ObjectFieldSelector", "apiVersion", R"("v1")"},
    {"core/v1", "Secret", "type", R"("Opaque")"},
    {"core/v1", "PersistentVolumeClaimStatus", "phase", R"("Pending")"},
    {"core/v1", "PersistentVolumeClaimSpec", "volumeMode", R"("Filesystem")"},
    {"core/v1", "EndpointPort", "protocol", R"("TCP")"},
    {"core/v1", "NamespaceStatus", "phase", R"("Active")"},
    {"core/v1", "ServiceSpec", "sessionAffinity", R"("None")"},
    {"core/v1", "ServiceSpec", "type", R"("ClusterIP")"},

    {"apps/v1", "DeploymentSpec", "replicas", "1"},
    {"apps/v1", "DeploymentSpec", "revisionHistoryLimit", "10"},
    {"apps/v1", "DeploymentSpec", "progressDeadlineSeconds", "600"},
    {"apps/v1", "DeploymentStrategy", "type", R"("RollingUpdate")"},
    {"apps/v1", "RollingUpdateDeployment", "maxUnavailable", R"("25%")"},
    {"apps/v1", "RollingUpdateDeployment", "maxSurge", R"("25%")"},
    {"apps/v1", "DaemonSetSpec", "revisionHistoryLimit", "10"},
    {"apps/v1", "DaemonSetUpdateStrategy", "type", R"("RollingUpdate")"},
    {"apps/v1", "RollingUpdateDaemonSet", "maxUnavailable", "1"},
    {"apps/v1", "RollingUpdateDaemonSet", "maxSurge", "0"},
    {"apps/v1", "StatefulSetSpec", "podManagementPolicy", R"("OrderedReady")"},
    {"apps/v1", "StatefulSetSpec", "persistentVolumeClaimRetentionPolicy", "{}"},
    {"apps/v1", "StatefulSetSpec", "replicas", "1"},
    {"apps/v1", "StatefulSetSpec", "revisionHistoryLimit", "10"},
    {"apps/v1", "StatefulSetPersistentVolumeClaimRetentionPolicy", "whenDeleted", R"("Retain")"},
    {"apps/v1", "StatefulSetPersistentVolumeClaimRetentionPolicy", "whenScaled", R"("Retain")"},
    {"apps/v1", "ReplicaSetSpec", "replicas", "1"},

    {"batch/v1", "CronJobSpec", "concurrencyPolicy", R"("Allow")"},
    {"batch/v1", "CronJobSpec", "suspend", "false"},
    {"batch/v1", "CronJobSpec", "successfulJobsHistoryLimit", "3"},
    {"batch/v1", "CronJobSpec", "failedJobsHistoryLimit", "1"},
    {"batch/v1", "PodFailurePolicyOnPodConditionsPattern", "status", R"("True")"},

    {"scheduling/v1", "PriorityClass", "preemptionPolicy", R"("PreemptLowerPriority")"},
    {"scheduling/v1beta1 scheduling/v1alpha3", "PodGroupSpec", "disruptionMode",
     R"({"single":{}})"},
    {"autoscaling/v1 autoscaling/v2", "HorizontalPodAutoscalerSpec", "minReplicas", "1"},
    {"autoscaling/v2", "HorizontalPodAutoscalerSpec", "metrics",
     R"([{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":80}}}])"},
    {"authentication/v1", "TokenRequestSpec", "expirationSeconds", "3600"},

    {"rbac/v1", "RoleRef", "apiGroup", R"("rbac.authorization.k8s.io")"},
    {"storage/v1", "StorageClass", "reclaimPolicy", R"("Delete")"},
    {"storage/v1", "StorageClass", "volumeBindingMode", R"("Immediate")"},
    {"storage/v1", "CSIDriverSpec", "attachRequired", "true"},
    {"storage/v1", "CSIDriverSpec", "podInfoOnMount", "false"},
    {"storage/v1", "CSIDriverSpec", "storageCapacity", "false"},
    {"storage/v1", "CSIDriverSpec", "fsGroupPolicy", R"("ReadWriteOnceWithFSType")"},
    {"storage/v1", "CSIDriverSpec", "volumeLifecycleModes", R"(["Persistent"])"},
    {"storage/v1", "CSIDriverSpec", "requiresRepublish", "false"},
    {"storage/v1", "CSIDriverSpec", "seLinuxMount", "false"},
    {"storage/v1", "CSIDriverSpec", "preventPodSchedulingIfMissing", "false"},
    {"networking/v1", "NetworkPolicyPort", "protocol", R"("TCP")"},
    {"networking/v1", "IngressClassParametersReference", "scope", R"("Cluster")"},
    {"discovery/v1", "EndpointPort", "name", R"("")"},
    {"discovery/v1", "EndpointPort", "protocol", R"("TCP")"},

    {kAdmission, "ValidatingWebhook", "failurePolicy", R"("Fail")"},
    {kAdmission, "ValidatingWebhook", "matchPolicy", R"("Equivalent")"},
    {kAdmission, "ValidatingWebhook", "namespaceSelector", "{}"},
    {kAdmission, "ValidatingWebhook", "objectSelector", "{}"},
    {kAdmission, "ValidatingWebhook", "timeoutSeconds", "10"},
    {kAdmission, "MutatingWebhook", "failurePolicy", R"("Fail")"},
    {kAdmission, "MutatingWebhook", "matchPolicy", R"("Equivalent")"},
    {kAdmission, "MutatingWebhook", "namespaceSelector", "{}"},
    {kAdmission, "MutatingWebhook", "objectSelector", "{}"},
    {kAdmission, "MutatingWebhook", "timeoutSeconds", "10"},
    {kAdmission, "MutatingWebhook", "reinvocationPolicy", R"("Never")"},
    {kAdmission, "Rule", "scope", R"("*")"},
    {kAdmission, "ServiceReference", "port", "443"},
    {kAdmission, "ValidatingAdmissionPolicySpec", "failurePolicy", R"("Fail")"},
    {kAdmission, "MutatingAdmissionPolicySpec", "failurePolicy", R"("Fail")"},
    {kAdmission, "MatchResources", "matchPolicy", R"("Equivalent")"},
    {kAdmission, "MatchResources", "namespaceSelector", "{}"},
    {kAdmission, "MatchResources", "objectSelector", "{}"},
    {"apiextensions", "CustomResourceDefinitionSpec", "conversion", R"({"strategy":"None"})"},
    {"apiextensions", "ServiceReference", "port", "443"},
    {"apiregistration", "ServiceReference", "port", "443"},

    {"flowcontrol/v1", "FlowSchemaSpec", "matchingPrecedence", "1000"},
    {"flowcontrol/v1", "ExemptPriorityLevelConfiguration", "nominalConcurrencyShares", "0"},
    {"flowcontrol/v1", "ExemptPriorityLevelConfiguration", "lendablePercent", "0"},
    {"flowcontrol/v1", "LimitedPriorityLevelConfiguration", "nominalConcurrencyShares", "30"},
    {"flowcontrol/v1", "LimitedPriorityLevelConfiguration", "lendablePercent", "0"},
    {"flowcontrol/v1", "QueuingConfiguration", "handSize", "8"},
    {"flowcontrol/v1", "QueuingConfiguration", "queues", "64"},
    {"flowcontrol/v1", "QueuingConfiguration", "queueLengthLimit", "50"},
};

}  // namespace

std::span<const DefaultRow> DefaultRows() { return kRows; }

}  // namespace drachma::api
