import {mutatingAdmissionPolicies} from '#src/resources/admissionregistration/mutatingadmissionpolicy.js';
import {mutatingAdmissionPolicyBindings} from '#src/resources/admissionregistration/mutatingadmissionpolicybinding.js';
import {mutatingWebhookConfigurations} from '#src/resources/admissionregistration/mutatingwebhookconfiguration.js';
import {validatingAdmissionPolicies} from '#src/resources/admissionregistration/validatingadmissionpolicy.js';
import {validatingAdmissionPolicyBindings} from '#src/resources/admissionregistration/validatingadmissionpolicybinding.js';
import {validatingWebhookConfigurations} from '#src/resources/admissionregistration/validatingwebhookconfiguration.js';
import {apiServices} from '#src/resources/apiregistration/apiservice.js';
import {controllerRevisions} from '#src/resources/apps/controllerrevision.js';
import {daemonSets} from '#src/resources/apps/daemonset.js';
import {deployments} from '#src/resources/apps/deployment.js';
import {replicaSets} from '#src/resources/apps/replicaset.js';
import {statefulSets} from '#src/resources/apps/statefulset.js';
import {selfSubjectReviews} from '#src/resources/authentication/selfsubjectreview.js';
import {tokenReviews} from '#src/resources/authentication/tokenreview.js';
import {localSubjectAccessReviews} from '#src/resources/authorization/localsubjectaccessreview.js';
import {selfSubjectAccessReviews} from '#src/resources/authorization/selfsubjectaccessreview.js';
import {selfSubjectRulesReviews} from '#src/resources/authorization/selfsubjectrulesreview.js';
import {subjectAccessReviews} from '#src/resources/authorization/subjectaccessreview.js';
import {customResourceDefinitions} from '#src/resources/apiextensions/customresourcedefinition.js';
import {horizontalPodAutoscalers} from '#src/resources/autoscaling/horizontalpodautoscaler.js';
import {cronJobs} from '#src/resources/batch/cronjob.js';
import {jobs} from '#src/resources/batch/job.js';
import {certificateSigningRequests} from '#src/resources/certificates/certificatesigningrequest.js';
import {clusterTrustBundles} from '#src/resources/certificates/clustertrustbundle.js';
import {podCertificateRequests} from '#src/resources/certificates/podcertificaterequest/definition.js';
import {leases} from '#src/resources/coordination/lease.js';
import {leaseCandidates} from '#src/resources/coordination/leasecandidate.js';
import {bindings} from '#src/resources/core/binding.js';
import {componentStatuses} from '#src/resources/core/componentstatus.js';
import {configMaps} from '#src/resources/core/configmap.js';
import {endpoints} from '#src/resources/core/endpoints.js';
import {events} from '#src/resources/core/event.js';
import {limitRanges} from '#src/resources/core/limitrange.js';
import {namespaces} from '#src/resources/core/namespace.js';
import {nodes} from '#src/resources/core/node.js';
import {pods} from '#src/resources/core/pod/definition.js';
import {podTemplates} from '#src/resources/core/podtemplate.js';
import {replicationControllers} from '#src/resources/core/replicationcontroller.js';
import {persistentVolumes} from '#src/resources/core/persistentvolume.js';
import {persistentVolumeClaims} from '#src/resources/core/persistentvolumeclaim.js';
import {resourceQuotas} from '#src/resources/core/resourcequota.js';
import {secrets} from '#src/resources/core/secret.js';
import {services} from '#src/resources/core/service/definition.js';
import {serviceAccounts} from '#src/resources/core/serviceaccount.js';
import type {ResourceDefinition} from '#src/resources/definition.js';
import {flowSchemas} from '#src/resources/flowcontrol/flowschema.js';
import {priorityLevelConfigurations} from '#src/resources/flowcontrol/prioritylevelconfiguration.js';
import {endpointSlices} from '#src/resources/discovery/endpointslice.js';
import {nodeUsage, podUsage} from '#src/resources/metrics/usage.js';
import {ingresses} from '#src/resources/networking/ingress.js';
import {ingressClasses} from '#src/resources/networking/ingressclass.js';
import {ipAddresses} from '#src/resources/networking/ipaddress.js';
import {networkPolicies} from '#src/resources/networking/networkpolicy.js';
import {serviceCIDRs} from '#src/resources/networking/servicecidr.js';
import {runtimeClasses} from '#src/resources/node/runtimeclass.js';
import {podDisruptionBudgets} from '#src/resources/policy/poddisruptionbudget.js';
import {clusterRoles} from '#src/resources/rbac/clusterrole.js';
import {clusterRoleBindings} from '#src/resources/rbac/clusterrolebinding.js';
import {roles} from '#src/resources/rbac/role.js';
import {roleBindings} from '#src/resources/rbac/rolebinding.js';
import {deviceClasses} from '#src/resources/resource/deviceclass.js';
import {deviceTaintRules} from '#src/resources/resource/devicetaintrule.js';
import {resourceClaims} from '#src/resources/resource/resourceclaim.js';
import {resourceClaimTemplates} from '#src/resources/resource/resourceclaimtemplate.js';
import {resourceSlices} from '#src/resources/resource/resourceslice.js';
import {priorityClasses} from '#src/resources/scheduling/priorityclass.js';
import {workloads} from '#src/resources/scheduling/workload.js';
import {csiDrivers} from '#src/resources/storage/csidriver.js';
import {csiNodes} from '#src/resources/storage/csinode.js';
import {csiStorageCapacities} from '#src/resources/storage/csistoragecapacity.js';
import {storageClasses} from '#src/resources/storage/storageclass.js';
import {storageVersions} from '#src/resources/internal/storageversion.js';
import {storageVersionMigrations} from '#src/resources/storagemigration/storageversionmigration.js';
import {volumeAttachments} from '#src/resources/storage/volumeattachment.js';
import {volumeAttributesClasses} from '#src/resources/storage/volumeattributesclass.js';

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
