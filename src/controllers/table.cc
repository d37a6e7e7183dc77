#include "controllers/claim_controller.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/compute_domain_controller.h"
#include "controllers/controller.h"
#include "controllers/cron_job.h"
#include "controllers/daemon_set.h"
#include "controllers/deployment.h"
#include "controllers/disruption.h"
#include "controllers/garbage_collector.h"
#include "controllers/group_protection.h"
#include "controllers/job.h"
#include "controllers/job_expiry.h"
#include "controllers/namespaces.h"
#include "controllers/nodes.h"
#include "controllers/replica_set.h"
#include "controllers/resource_quota.h"
#include "controllers/stateful_set.h"
#include "controllers/storage_protection.h"
#include "controllers/taint_eviction.h"

namespace drachma::controllers {

const std::vector<ControllerEntry>& ControllerTable() {
  // Names, accounts and concurrency are kube-controller-manager's.
  static const std::vector<ControllerEntry> table = {
      {.name = "deployment-controller",
       .component = "deployment-controller",
       .account = "deployment-controller",
       .concurrency = 5,
       .make = &DeploymentController::Make},
      {.name = "replicaset-controller",
       .component = "replicaset-controller",
       .account = "replicaset-controller",
       .concurrency = 5,
       .make = &ReplicaSetController::Make},
      {.name = "daemonset-controller",
       .component = "daemonset-controller",
       .account = "daemon-set-controller",
       .concurrency = 2,
       .make = &DaemonSetController::Make},
      {.name = "statefulset-controller",
       .component = "statefulset-controller",
       .account = "statefulset-controller",
       .concurrency = 5,
       .make = &StatefulSetController::Make},
      {.name = "disruption-controller",
       .component = "controllermanager",
       .account = "disruption-controller",
       .concurrency = 5,
       .make = &DisruptionController::Make},
      {.name = "job-controller",
       .component = "job-controller",
       .account = "job-controller",
       .concurrency = 5,
       .make = &JobController::Make},
      {.name = "ttl-after-finished-controller",
       .component = "ttl-after-finished-controller",
       .account = "ttl-after-finished-controller",
       .concurrency = 5,
       .make = &JobExpiry::Make},
      {.name = "cronjob-controller",
       .component = "cronjob-controller",
       .account = "cronjob-controller",
       .concurrency = 5,
       .make = &CronJobController::Make},
      {.name = "clusterrole-aggregation-controller",
       .component = "clusterrole-aggregation-controller",
       .account = "clusterrole-aggregation-controller",
       .concurrency = 5,
       .make = &ClusterRoleAggregation::Make},
      {.name = "resourceclaim-controller",
       .component = "resource_claim",
       .account = "resource-claim-controller",
       .concurrency = 50,
       .make = &ClaimController::Make},
      {.name = "podgroup-protection-controller",
       .component = "podgroup-protection-controller",
       .account = "podgroup-protection-controller",
       .concurrency = 1,
       .gate = "GenericWorkload",
       .gate_default = false,
       .make = &GroupProtection::Make},
      {.name = "persistentvolumeclaim-protection-controller",
       .component = "persistentvolumeclaim-protection-controller",
       .account = "pvc-protection-controller",
       .concurrency = 1,
       .make = &VolumeClaimProtection::Make},
      {.name = "persistentvolume-protection-controller",
       .component = "persistentvolume-protection-controller",
       .account = "pv-protection-controller",
       .concurrency = 1,
       .make = &VolumeProtection::Make},
      {.name = "volumeattributesclass-protection-controller",
       .component = "volumeattributesclass-protection-controller",
       .account = "volumeattributesclass-protection-controller",
       .concurrency = 1,
       .make = &VolumeClassProtection::Make},
      {.name = "device-taint-eviction-controller",
       .component = "device-taint-eviction-controller",
       .account = "device-taint-eviction-controller",
       .concurrency = 8,
       .gate = "DRADeviceTaints",
       .make = &DeviceTaintEviction::Make},
      {.name = "garbage-collector-controller",
       .component = "garbage-collector-controller",
       .account = "generic-garbage-collector",
       .concurrency = 20,
       .make = &GarbageCollector::Make},
      {.name = "namespace-controller",
       .component = "namespace-controller",
       .account = "namespace-controller",
       .concurrency = 10,
       .make = &NamespaceController::Make},
      {.name = "resourcequota-controller",
       .component = "resourcequota-controller",
       .account = "resourcequota-controller",
       .concurrency = 5,
       .make = &ResourceQuotaController::Make},
      {.name = "serviceaccount-controller",
       .component = "serviceaccount-controller",
       .account = "service-account-controller",
       .concurrency = 5,
       .make = &NamespaceDefaults::Make},
      {.name = "root-ca-certificate-publisher-controller",
       .component = "root-ca-cert-publisher",
       .account = "root-ca-cert-publisher",
       .concurrency = 1,
       .make = &RootCaPublisher::Make},
      {.name = "node-lifecycle-controller",
       .component = "node-controller",
       .account = "node-controller",
       .concurrency = 8,
       .make = &NodeLifecycle::Make},
      {.name = "taint-eviction-controller",
       .component = "taint-eviction-controller",
       .account = "node-controller",
       .concurrency = 8,
       .make = &NodeTaintEviction::Make},
      {.name = "pod-garbage-collector-controller",
       .component = "pod-garbage-collector",
       .account = "pod-garbage-collector",
       .concurrency = 5,
       .make = &PodCollector::Make},
      // Not kube-controller-manager's, but of the NVIDIA driver's installation.
      {.name = "compute-domain-controller",
       .component = "compute-domain-controller",
       .account = "compute-domain-controller",
       .concurrency = 5,
       .make = &ComputeDomainController::Make},
  };
  return table;
}

}  // namespace drachma::controllers
