#pragma once

#include "api/kinds.h"

namespace drachma::api {

// The columns of Table answers, as kube-apiserver 1.37 has them (pkg/printers). {name, type,
// format, description, priority}.
inline constexpr ColumnInfo kComponentStatusColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Message", "string", "", "Message", 0},
    {"Error", "string", "", "Error", 0},
};
inline constexpr ColumnInfo kConfigMapColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Data", "string", "", "Data", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kEndpointsColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Endpoints", "string", "", "Endpoints", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kEventColumns[] = {
    {"Last Seen", "string", "", "Last Seen", 0},
    {"Type", "string", "", "Type", 0},
    {"Reason", "string", "", "Reason", 0},
    {"Object", "string", "", "Object", 0},
    {"Subobject", "string", "", "Subobject", 1},
    {"Source", "string", "", "Source", 1},
    {"Message", "string", "", "Message", 0},
    {"First Seen", "string", "", "First Seen", 1},
    {"Count", "string", "", "Count", 1},
    {"Name", "string", "name", "Name of the object", 1},
};
inline constexpr ColumnInfo kLimitRangeColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Created At", "date", "", "When the object was created", 0},
};
inline constexpr ColumnInfo kNamespaceColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kNodeColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Roles", "string", "", "Roles", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Version", "string", "", "Version", 0},
    {"Internal-IP", "string", "", "Internal-IP", 1},
    {"External-IP", "string", "", "External-IP", 1},
    {"OS-Image", "string", "", "OS-Image", 1},
    {"Kernel-Version", "string", "", "Kernel-Version", 1},
    {"Container-Runtime", "string", "", "Container-Runtime", 1},
};
inline constexpr ColumnInfo kPersistentVolumeClaimColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Volume", "string", "", "Volume", 0},
    {"Capacity", "string", "", "Capacity", 0},
    {"Access Modes", "string", "", "Access Modes", 0},
    {"StorageClass", "string", "", "StorageClass", 0},
    {"VolumeAttributesClass", "string", "", "VolumeAttributesClass", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"VolumeMode", "string", "", "VolumeMode", 1},
};
inline constexpr ColumnInfo kPersistentVolumeColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Capacity", "string", "", "Capacity", 0},
    {"Access Modes", "string", "", "Access Modes", 0},
    {"Reclaim Policy", "string", "", "Reclaim Policy", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Claim", "string", "", "Claim", 0},
    {"StorageClass", "string", "", "StorageClass", 0},
    {"VolumeAttributesClass", "string", "", "VolumeAttributesClass", 0},
    {"Reason", "string", "", "Reason", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"VolumeMode", "string", "", "VolumeMode", 1},
};
inline constexpr ColumnInfo kPodColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Ready", "string", "", "How many are ready", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Restarts", "string", "", "Restarts", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"IP", "string", "", "IP", 1},
    {"Node", "string", "", "Name of the node", 1},
    {"Nominated Node", "string", "", "Nominated Node", 1},
    {"Readiness Gates", "string", "", "Readiness Gates", 1},
};
inline constexpr ColumnInfo kPodTemplateColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Containers", "string", "", "Names of the containers", 0},
    {"Images", "string", "", "Images of the containers", 0},
    {"Pod Labels", "string", "", "Pod Labels", 0},
};
inline constexpr ColumnInfo kReplicationControllerColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Desired", "integer", "", "Desired", 0},
    {"Current", "integer", "", "Current", 0},
    {"Ready", "integer", "", "How many are ready", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kResourceQuotaColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Request", "string", "", "Request", 0},
    {"Limit", "string", "", "Limit", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kSecretColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Type", "string", "", "Type", 0},
    {"Data", "string", "", "Data", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kServiceAccountColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kServiceColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Type", "string", "", "Type", 0},
    {"Cluster-IP", "string", "", "Cluster-IP", 0},
    {"External-IP", "string", "", "External-IP", 0},
    {"Port(s)", "string", "", "Port(s)", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kAPIServiceColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Service", "string", "", "Service", 0},
    {"Available", "string", "", "Available", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kControllerRevisionColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Controller", "string", "", "Controller", 0},
    {"Revision", "string", "", "Revision", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kDaemonSetColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Desired", "integer", "", "Desired", 0},
    {"Current", "integer", "", "Current", 0},
    {"Ready", "integer", "", "How many are ready", 0},
    {"Up-to-date", "integer", "", "Up-to-date", 0},
    {"Available", "integer", "", "Available", 0},
    {"Node Selector", "string", "", "Node Selector", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kDeploymentColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Ready", "string", "", "How many are ready", 0},
    {"Up-to-date", "string", "", "Up-to-date", 0},
    {"Available", "string", "", "Available", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kStatefulSetColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Ready", "string", "", "How many are ready", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
};
inline constexpr ColumnInfo kHorizontalPodAutoscalerColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Reference", "string", "", "Reference", 0},
    {"Targets", "string", "", "Targets", 0},
    {"MinPods", "string", "", "MinPods", 0},
    {"MaxPods", "string", "", "MaxPods", 0},
    {"Replicas", "string", "", "Replicas", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kCronJobColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Schedule", "string", "", "Schedule", 0},
    {"Timezone", "string", "", "Timezone", 0},
    {"Suspend", "boolean", "", "Suspend", 0},
    {"Active", "integer", "", "Active", 0},
    {"Last Schedule", "string", "", "Last Schedule", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kJobColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Completions", "string", "", "Completions", 0},
    {"Duration", "string", "", "Duration", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Containers", "string", "", "Names of the containers", 1},
    {"Images", "string", "", "Images of the containers", 1},
    {"Selector", "string", "", "Selector of the pods", 1},
};
inline constexpr ColumnInfo kCertificateSigningRequestColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"SignerName", "string", "", "SignerName", 0},
    {"Requestor", "string", "", "Requestor", 0},
    {"RequestedDuration", "string", "", "RequestedDuration", 0},
    {"Condition", "string", "", "Condition", 0},
};
inline constexpr ColumnInfo kClusterTrustBundleColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"SignerName", "string", "", "SignerName", 0},
};
inline constexpr ColumnInfo kPodCertificateRequestColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"PodName", "string", "", "PodName", 0},
    {"ServiceAccountName", "string", "", "ServiceAccountName", 0},
    {"NodeName", "string", "", "NodeName", 0},
    {"SignerName", "string", "", "SignerName", 0},
    {"State", "string", "", "State of the object", 0},
    {"UnverifiedUserAnnotations", "string", "", "UnverifiedUserAnnotations", 0},
};
inline constexpr ColumnInfo kIngressClassColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Controller", "string", "", "Controller", 0},
    {"Parameters", "string", "", "Parameters", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kIngressColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Class", "string", "", "Class", 0},
    {"Hosts", "string", "", "Hosts", 0},
    {"Address", "string", "", "Address", 0},
    {"Ports", "string", "", "Ports", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kIPAddressColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"ParentRef", "string", "", "ParentRef", 0},
};
inline constexpr ColumnInfo kNetworkPolicyColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Pod-Selector", "string", "", "Pod-Selector", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kServiceCIDRColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"CIDRs", "string", "", "CIDRs", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kPodDisruptionBudgetColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Min Available", "string", "", "Min Available", 0},
    {"Max Unavailable", "string", "", "Max Unavailable", 0},
    {"Allowed Disruptions", "integer", "", "Allowed Disruptions", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kClusterRoleBindingColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Role", "string", "", "Role", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"Users", "string", "", "Users", 1},
    {"Groups", "string", "", "Groups", 1},
    {"ServiceAccounts", "string", "", "ServiceAccounts", 1},
};
inline constexpr ColumnInfo kCSIDriverColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"AttachRequired", "boolean", "", "AttachRequired", 0},
    {"PodInfoOnMount", "boolean", "", "PodInfoOnMount", 0},
    {"StorageCapacity", "boolean", "", "StorageCapacity", 0},
    {"TokenRequests", "string", "", "TokenRequests", 0},
    {"RequiresRepublish", "boolean", "", "RequiresRepublish", 0},
    {"Modes", "string", "", "Modes", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kCSINodeColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Drivers", "integer", "", "Drivers", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kStorageClassColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Provisioner", "string", "", "Provisioner", 0},
    {"ReclaimPolicy", "string", "", "ReclaimPolicy", 0},
    {"VolumeBindingMode", "string", "", "VolumeBindingMode", 0},
    {"AllowVolumeExpansion", "string", "", "AllowVolumeExpansion", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kVolumeAttachmentColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Attacher", "string", "name", "Attacher", 0},
    {"PV", "string", "", "PV", 0},
    {"Node", "string", "", "Name of the node", 0},
    {"Attached", "boolean", "", "Attached", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kVolumeAttributesClassColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"DriverName", "string", "", "DriverName", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kMutatingAdmissionPolicyColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Mutations", "integer", "", "Mutations", 0},
    {"ParamKind", "string", "", "ParamKind", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kMutatingAdmissionPolicyBindingColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"PolicyName", "string", "", "PolicyName", 0},
    {"ParamRef", "string", "", "ParamRef", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kMutatingWebhookConfigurationColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Webhooks", "integer", "", "Webhooks", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kValidatingAdmissionPolicyColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Validations", "integer", "", "Validations", 0},
    {"ParamKind", "string", "", "ParamKind", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kCustomResourceDefinitionColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Scope", "string", "", "Scope", 0},
    {"Versions", "string", "", "Versions", 0},
    {"Created At", "date", "", "When the object was created", 0},
    {"Group", "string", "", "Group", 1},
    {"Kind", "string", "", "Kind", 1},
    {"ShortNames", "string", "", "ShortNames", 1},
    {"Established", "boolean", "", "Established", 1},
};
inline constexpr ColumnInfo kPriorityClassColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Value", "integer", "", "Value", 0},
    {"Global-Default", "boolean", "", "Global-Default", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"PreemptionPolicy", "string", "", "PreemptionPolicy", 0},
};
inline constexpr ColumnInfo kPodGroupColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Policy", "string", "", "Policy", 0},
    {"Workload", "string", "", "Workload", 0},
    {"Status", "string", "", "Status", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kCompositePodGroupColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Policy", "string", "", "Policy", 0},
    {"Workload", "string", "", "Workload", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kWorkloadColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kLeaseColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Holder", "string", "", "Holder", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kLeaseCandidateColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"LeaseName", "string", "", "LeaseName", 0},
    {"BinaryVersion", "string", "", "BinaryVersion", 0},
    {"EmulationVersion", "string", "", "EmulationVersion", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kRuntimeClassColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Handler", "string", "", "Handler", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kEndpointSliceColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"AddressType", "string", "", "AddressType", 0},
    {"Ports", "string", "", "Ports", 0},
    {"Endpoints", "string", "", "Endpoints", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kDeviceTaintRuleColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Key", "string", "", "Key", 0},
    {"Value", "string", "", "Value", 0},
    {"Effect", "string", "", "Effect", 0},
    {"TimeAdded", "string", "", "TimeAdded", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kResourceClaimColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"State", "string", "", "State of the object", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kResourceSliceColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Node", "string", "", "Name of the node", 0},
    {"Driver", "string", "", "Name of the driver", 0},
    {"Pool", "string", "", "Name of the pool", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kResourcePoolStatusRequestColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Driver", "string", "", "Name of the driver", 0},
    {"Total", "string", "", "Total", 0},
    {"Available", "string", "", "Available", 0},
    {"Allocated", "string", "", "Allocated", 0},
    {"Unavailable", "string", "", "Unavailable", 0},
    {"Errors", "string", "", "Errors", 0},
    {"Pools", "integer", "", "Pools", 0},
    {"Status", "string", "", "State of the object", 0},
    {"Completed", "string", "", "Completed", 0},
};
inline constexpr ColumnInfo kFlowSchemaColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"PriorityLevel", "string", "", "PriorityLevel", 0},
    {"MatchingPrecedence", "string", "", "MatchingPrecedence", 0},
    {"DistinguisherMethod", "string", "", "DistinguisherMethod", 0},
    {"Age", "string", "", "Time since the object was created", 0},
    {"MissingPL", "string", "", "MissingPL", 0},
};
inline constexpr ColumnInfo kPriorityLevelConfigurationColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"Type", "string", "", "Type", 0},
    {"NominalConcurrencyShares", "string", "", "NominalConcurrencyShares", 0},
    {"Queues", "string", "", "Queues", 0},
    {"HandSize", "string", "", "HandSize", 0},
    {"QueueLengthLimit", "string", "", "QueueLengthLimit", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kStorageVersionColumns[] = {
    {"Name", "string", "name", "Name of the object", 0},
    {"CommonEncodingVersion", "string", "", "CommonEncodingVersion", 0},
    {"StorageVersions", "string", "", "StorageVersions", 0},
    {"Age", "string", "", "Time since the object was created", 0},
};
inline constexpr ColumnInfo kStorageVersionMigrationColumns[] = {
    {"Name", "string", "", "Name of the object", 0},
    {"Resource", "string", "", "Resource", 0},
    {"Status", "string", "", "State of the object", 0},
};

}  // namespace drachma::api
