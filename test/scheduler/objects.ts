import type {Pod, PodSpec} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';

/** A node with these resources. */
export const aNode = (
  name: string,
  {cpu = '4', memory = '8Gi', pods = '110', labels = {}, taints, unschedulable, ...more}: Record<string, unknown> = {},
): Node =>
  ({
    metadata: {name, labels},
    spec: {...(taints ? {taints} : {}), ...(unschedulable ? {unschedulable} : {})},
    status: {...more, allocatable: {cpu, memory, pods, ...(more['allocatable'] as object)}},
  }) as unknown as Node;

/** A pod with these requests. */
export const aPod = (
  name: string,
  {cpu, memory, ...spec}: Partial<PodSpec> & {cpu?: string; memory?: string} = {},
  metadata: object = {},
): Pod =>
  ({
    metadata: {name, namespace: 'default', ...metadata},
    spec: {
      containers: [{name: 'main', image: 'app', resources: {requests: {...(cpu ? {cpu} : {}), ...(memory ? {memory} : {})}}}],
      ...spec,
    },
  }) as Pod;
