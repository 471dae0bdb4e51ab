// The pods that the workloads of the files would make: admission judges them only when a controller creates them, so a
// check asks before.

import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject, ObjectMeta} from '#src/api/types.js';

interface Template {
  readonly metadata?: ObjectMeta;
  readonly spec?: Pod['spec'];
}

interface Workload {
  readonly replicas?: number;
  readonly parallelism?: number;
  readonly suspend?: boolean;
  readonly template?: Template;
  readonly jobTemplate?: {readonly spec?: {readonly template?: Template}};
  readonly volumeClaimTemplates?: readonly KubeObject[];
}

/** The pods of a workload, and how many there are at once as soon as it is applied. */
export interface WorkloadPods {
  readonly template: Template;
  /** The path of the template in the workload. */
  readonly path: string;
  readonly count: number;
  /** The claims of each pod. */
  readonly claims: readonly KubeObject[];
}

const countOf: Readonly<Record<string, (spec: Workload, status: {readonly desiredNumberScheduled?: number}) => number>> = {
  Deployment: ({replicas = 1}) => replicas,
  ReplicaSet: ({replicas = 1}) => replicas,
  ReplicationController: ({replicas = 1}) => replicas,
  StatefulSet: ({replicas = 1}) => replicas,
  DaemonSet: (_, {desiredNumberScheduled = 0}) => desiredNumberScheduled,
  Job: ({parallelism = 1, suspend = false}) => (suspend ? 0 : parallelism),
  CronJob: () => 0,
};

const workloads: readonly Kind[] = [
  kinds.deployments,
  kinds.replicaSets,
  kinds.replicationControllers,
  kinds.statefulSets,
  kinds.daemonSets,
  kinds.jobs,
  kinds.cronJobs,
];

/** Returns the pods of a workload; undefined for other kinds. */
export const workloadPods = (kind: Kind, object: KubeObject): WorkloadPods | undefined => {
  if (!workloads.some(({group, plural}) => group === kind.group && plural === kind.plural)) return undefined;
  const {spec = {}, status = {}} = object as {readonly spec?: Workload; readonly status?: {readonly desiredNumberScheduled?: number}};
  const [template, path] =
    kind.kind === 'CronJob' ? [spec.jobTemplate?.spec?.template, 'spec.jobTemplate.spec.template'] : [spec.template, 'spec.template'];
  if (!template?.spec) return undefined;
  return {template, path, count: countOf[kind.kind]!(spec, status), claims: spec.volumeClaimTemplates ?? []};
};

/** Returns a pod of a template, as a controller would create it. */
export const podOf = ({template}: WorkloadPods, {metadata}: KubeObject): Pod => ({
  metadata: {
    generateName: `${metadata?.name ?? metadata?.generateName ?? 'pod'}-`,
    ...(metadata?.namespace ? {namespace: metadata.namespace} : {}),
    ...(template.metadata?.labels ? {labels: template.metadata.labels} : {}),
    ...(template.metadata?.annotations ? {annotations: template.metadata.annotations} : {}),
  },
  spec: template.spec!,
});
