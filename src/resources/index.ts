import {mutatingAdmissionPolicies} from './admissionregistration/mutatingadmissionpolicy.js';
import {mutatingAdmissionPolicyBindings} from './admissionregistration/mutatingadmissionpolicybinding.js';
import {mutatingWebhookConfigurations} from './admissionregistration/mutatingwebhookconfiguration.js';
import {validatingAdmissionPolicies} from './admissionregistration/validatingadmissionpolicy.js';
import {validatingAdmissionPolicyBindings} from './admissionregistration/validatingadmissionpolicybinding.js';
import {validatingWebhookConfigurations} from './admissionregistration/validatingwebhookconfiguration.js';
import {apiServices} from './apiregistration/apiservice.js';
import {controllerRevisions} from './apps/controllerrevision.js';
import {daemonSets} from './apps/daemonset.js';
import {deployments} from './apps/deployment.js';
import {replicaSets} from './apps/replicaset.js';
import {statefulSets} from './apps/statefulset.js';
import {selfSubjectReviews} from './authentication/selfsubjectreview.js';
import {tokenReviews} from './authentication/tokenreview.js';
import {localSubjectAccessReviews} from './authorization/localsubjectaccessreview.js';
import {selfSubjectAccessReviews} from './authorization/selfsubjectaccessreview.js';
import {selfSubjectRulesReviews} from './authorization/selfsubjectrulesreview.js';
import {subjectAccessReviews} from './authorization/subjectaccessreview.js';
import {customResourceDefinitions} from './apiextensions/customresourcedefinition.js';
import {horizontalPodAutoscalers} from './autoscaling/horizontalpodautoscaler.js';
import {cronJobs} from './batch/cronjob.js';
import {jobs} from './batch/job.js';
import {certificateSigningRequests} from './certificates/certificatesigningrequest.js';
import {clusterTrustBundles} from './certificates/clustertrustbundle.js';
import {podCertificateRequests} from './certificates/podcertificaterequest/definition.js';
import {leases} from './coordination/lease.js';
import {leaseCandidates} from './coordination/leasecandidate.js';
import {bindings} from './core/binding.js';
import {componentStatuses} from './core/componentstatus.js';
import {configMaps} from './core/configmap.js';
import {endpoints} from './core/endpoints.js';
import {events} from './core/event.js';
import {limitRanges} from './core/limitrange.js';
import {namespaces} from './core/namespace.js';
import {nodes} from './core/node.js';
import {pods} from './core/pod/definition.js';
import {podTemplates} from './core/podtemplate.js';
import {replicationControllers} from './core/replicationcontroller.js';
import {persistentVolumes} from './core/persistentvolume.js';
import {persistentVolumeClaims} from './core/persistentvolumeclaim.js';
import {resourceQuotas} from './core/resourcequota.js';
import {secrets} from './core/secret.js';
import {services} from './core/service/definition.js';
import {serviceAccounts} from './core/serviceaccount.js';
import type {ResourceDefinition} from './definition.js';
import {flowSchemas} from './flowcontrol/flowschema.js';
import {priorityLevelConfigurations} from './flowcontrol/prioritylevelconfiguration.js';
import {endpointSlices} from './discovery/endpointslice.js';
import {nodeUsage, podUsage} from './metrics/usage.js';
import {ingresses} from './networking/ingress.js';
import {ingressClasses} from './networking/ingressclass.js';
import {ipAddresses} from './networking/ipaddress.js';
import {networkPolicies} from './networking/networkpolicy.js';
import {serviceCIDRs} from './networking/servicecidr.js';
import {runtimeClasses} from './node/runtimeclass.js';
import {podDisruptionBudgets} from './policy/poddisruptionbudget.js';
import {clusterRoles} from './rbac/clusterrole.js';
import {clusterRoleBindings} from './rbac/clusterrolebinding.js';
import {roles} from './rbac/role.js';
import {roleBindings} from './rbac/rolebinding.js';
import {deviceClasses} from './resource/deviceclass.js';
import {deviceTaintRules} from './resource/devicetaintrule.js';
import {resourceClaims} from './resource/resourceclaim.js';
import {resourceClaimTemplates} from './resource/resourceclaimtemplate.js';
import {resourceSlices} from './resource/resourceslice.js';
import {priorityClasses} from './scheduling/priorityclass.js';
import {workloads} from './scheduling/workload.js';
import {csiDrivers} from './storage/csidriver.js';
import {csiNodes} from './storage/csinode.js';
import {csiStorageCapacities} from './storage/csistoragecapacity.js';
import {storageClasses} from './storage/storageclass.js';
import {storageVersions} from './internal/storageversion.js';
import {storageVersionMigrations} from './storagemigration/storageversionmigration.js';
import {volumeAttachments} from './storage/volumeattachment.js';
import {volumeAttributesClasses} from './storage/volumeattributesclass.js';

/** Every built-in resource. What is served, stored and shown follows from this list. */
export const resources: readonly ResourceDefinition[] = [
  componentStatuses,
  bindings,
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
  mutatingWebhookConfigurations,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
  validatingWebhookConfigurations,
  apiServices,
  configMaps,
  endpoints,
  events,
  limitRanges,
  namespaces,
  nodes,
  pods,
  podTemplates,
  replicationControllers,
  persistentVolumes,
  persistentVolumeClaims,
  resourceQuotas,
  secrets,
  services,
  serviceAccounts,
  customResourceDefinitions,
  controllerRevisions,
  daemonSets,
  deployments,
  replicaSets,
  statefulSets,
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  horizontalPodAutoscalers,
  cronJobs,
  jobs,
  certificateSigningRequests,
  clusterTrustBundles,
  podCertificateRequests,
  leases,
  leaseCandidates,
  endpointSlices,
  flowSchemas,
  priorityLevelConfigurations,
  nodeUsage,
  podUsage,
  ingresses,
  ingressClasses,
  ipAddresses,
  networkPolicies,
  serviceCIDRs,
  runtimeClasses,
  podDisruptionBudgets,
  clusterRoles,
  clusterRoleBindings,
  roles,
  roleBindings,
  deviceClasses,
  deviceTaintRules,
  resourceClaims,
  resourceClaimTemplates,
  resourceSlices,
  priorityClasses,
  workloads,
  csiDrivers,
  csiNodes,
  csiStorageCapacities,
  storageClasses,
  storageVersions,
  storageVersionMigrations,
  volumeAttachments,
  volumeAttributesClasses,
];
