#include "controllers/claim_controller.h"
#include "controllers/cluster_role_aggregation.h"
#include "controllers/controller.h"
#include "controllers/cron_job.h"
#include "controllers/daemon_set.h"
#include "controllers/deployment.h"
#include "controllers/disruption.h"
#include "controllers/garbage_collector.h"
#include "controllers/job.h"
#include "controllers/namespaces.h"
#include "controllers/nodes.h"
#include "controllers/replica_set.h"
#include "controllers/stateful_set.h"
#include "controllers/taint_eviction.h"

namespace drachma::controllers {

const std::vector<ControllerEntry>& ControllerTable() {
  // Names and concurrency are kube-controller-manager's.
  static const std::vector<ControllerEntry> table = {
      {.name = "deployment-controller",
       .component = "deployment-controller",
       .concurrency = 5,
       .make = &DeploymentController::Make},
      {.name = "replicaset-controller",
       .component = "replicaset-controller",
       .concurrency = 5,
       .make = &ReplicaSetController::Make},
      {.name = "daemonset-controller",
       .component = "daemonset-controller",
       .concurrency = 2,
       .make = &DaemonSetController::Make},
      {.name = "statefulset-controller",
       .component = "statefulset-controller",
       .concurrency = 5,
       .make = &StatefulSetController::Make},
      {.name = "disruption-controller",
       .component = "controllermanager",
       .concurrency = 5,
       .make = &DisruptionController::Make},
      {.name = "job-controller",
       .component = "job-controller",
       .concurrency = 5,
       .make = &JobController::Make},
      {.name = "cronjob-controller",
       .component = "cronjob-controller",
       .concurrency = 5,
       .make = &CronJobController::Make},
      {.name = "clusterrole-aggregation-controller",
       .component = "clusterrole-aggregation-controller",
       .concurrency = 5,
       .make = &ClusterRoleAggregation::Make},
      {.name = "resourceclaim-controller",
       .component = "resource_claim",
       .concurrency = 50,
       .make = &ClaimController::Make},
      {.name = "device-taint-eviction-controller",
       .component = "device-taint-eviction-controller",
       .concurrency = 8,
       .gate = "DRADeviceTaints",
       .make = &DeviceTaintEviction::Make},
      {.name = "garbage-collector-controller",
       .component = "garbage-collector-controller",
       .concurrency = 20,
       .make = &GarbageCollector::Make},
      {.name = "namespace-controller",
       .component = "namespace-controller",
       .concurrency = 10,
       .make = &NamespaceController::Make},
      {.name = "serviceaccount-controller",
       .component = "serviceaccount-controller",
       .concurrency = 5,
       .make = &NamespaceDefaults::Make},
      {.name = "node-lifecycle-controller",
       .component = "node-controller",
       .concurrency = 8,
       .make = &NodeLifecycle::Make},
      {.name = "taint-eviction-controller",
       .component = "taint-eviction-controller",
       .concurrency = 8,
       .make = &NodeTaintEviction::Make},
      {.name = "pod-garbage-collector-controller",
       .component = "pod-garbage-collector",
       .concurrency = 5,
       .make = &PodCollector::Make},
  };
  return table;
}

}  // namespace drachma::controllers
