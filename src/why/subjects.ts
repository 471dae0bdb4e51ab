import {kinds, type Kind} from '#src/api/kinds/index.js';
import {certificateRequestSubject} from './certificates/request.js';
import {customSubject} from './custom/custom.js';
import {deletionOf} from './deletion/deletion.js';
import {namespaceSubject} from './deletion/namespace.js';
import type {Subject} from './facts/finding.js';
import {apiServiceSubject, definitionSubject, webhookSubject} from './machinery/extensions.js';
import {leaseSubject} from './machinery/lease.js';
import {nodeSubject} from './machinery/node.js';
import {quotaSubject} from './machinery/quota.js';
import {resourceClaimSubject} from './machinery/resource-claim.js';
import {gatewaySubject, ingressSubject} from './network/ingress.js';
import {serviceSubject} from './network/service.js';
import {podSubject} from './pods/pods.js';
import {claimSubject} from './storage/claim.js';
import {attachmentSubject, volumeSubject} from './storage/volume.js';
import {autoscalerSubject} from './workloads/autoscaler.js';
import {budgetSubject} from './workloads/budget.js';
import {cronJobSubject} from './workloads/cron-job.js';
import {daemonSetSubject} from './workloads/daemon-set.js';
import {deploymentSubject} from './workloads/deployment.js';
import {jobSubject} from './workloads/job.js';
import {replicaSetSubject, replicationControllerSubject} from './workloads/replicas.js';
import {statefulSetSubject} from './workloads/stateful-set.js';

const rows: readonly (readonly [Kind, Subject])[] = [
  [kinds.pods, podSubject],
  [kinds.nodes, nodeSubject],
  [kinds.namespaces, namespaceSubject],
  [kinds.deployments, deploymentSubject],
  [kinds.replicaSets, replicaSetSubject],
  [kinds.replicationControllers, replicationControllerSubject],
  [kinds.statefulSets, statefulSetSubject],
  [kinds.daemonSets, daemonSetSubject],
  [kinds.jobs, jobSubject],
  [kinds.cronJobs, cronJobSubject],
  [kinds.horizontalPodAutoscalers, autoscalerSubject],
  [kinds.podDisruptionBudgets, budgetSubject],
  [kinds.persistentVolumeClaims, claimSubject],
  [kinds.persistentVolumes, volumeSubject],
  [kinds.volumeAttachments, attachmentSubject],
  [kinds.resourceClaims, resourceClaimSubject],
  [kinds.services, serviceSubject],
  [kinds.ingresses, ingressSubject],
  [kinds.resourceQuotas, quotaSubject],
  [kinds.leases, leaseSubject],
  [kinds.certificateSigningRequests, certificateRequestSubject],
  [kinds.apiServices, apiServiceSubject],
  [kinds.customResourceDefinitions, definitionSubject],
  [kinds.mutatingWebhookConfigurations, webhookSubject],
  [kinds.validatingWebhookConfigurations, webhookSubject],
];

const subjects: ReadonlyMap<string, Subject> = new Map(rows.map(([{group, kind}, subject]) => [`${group}/${kind}`, subject]));

const gateways = gatewaySubject(customSubject);

const ownSubject = ({group, kind}: Kind): Subject =>
  kind === 'Gateway' && group.startsWith('gateway.networking.') ? gateways : (subjects.get(`${group}/${kind}`) ?? customSubject);

/** How objects of a kind are explained: what deletes them first, then the rules of the kind, or those for any kind. */
export const subjectOf = (kind: Kind): Subject => {
  const own = ownSubject(kind);
  return {rules: [deletionOf(kind), ...own.rules], rest: (object, cluster) => own.rest(object, cluster)};
};
