// The fragments of pod signatures: what the plugins read of a pod.

import type {SignatureFragment} from '#src/scheduler/framework/plugin.js';
import {canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import type {Steps} from '#src/base/steps.js';
import {featuresForScheduling} from '#src/model/pod/required-features.js';
import {normalizedImageName} from '#src/scheduler/cache/image-name.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';

/** Returns the values without repetitions, sorted. */
const sortedSet = (values: readonly string[]): string[] => [...new Set(values)].sort();

const allContainers = ({pod: {spec}}: PodInfo) => [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];

export const schedulerName: SignatureFragment = {
  key: 'v1.Pod.Spec.SchedulerName',
  value: ({pod}) => pod.spec?.schedulerName ?? '',
};

export const nodeName: SignatureFragment = {key: 'v1.Pod.Spec.NodeName', value: ({pod}) => pod.spec?.nodeName ?? ''};

export const nodeSelector: SignatureFragment = {
  key: 'v1.Pod.Spec.Affinity.NodeSelector',
  value: ({pod}) => pod.spec?.nodeSelector ?? null,
};

export const labels: SignatureFragment = {key: 'v1.Pod.Labels', value: pod => pod.labels};

export const imageNames: SignatureFragment = {
  key: 'v1.Pod.Spec.CanonicalImageNames()',
  value: pod => sortedSet(allContainers(pod).map(({image = ''}) => normalizedImageName(image))),
};

/** The ports alone: addresses and protocols are left to the filter. */
export const hostPorts: SignatureFragment = {
  key: 'v1.Pod.Spec.HostPorts()',
  value(pod) {
    const ports = allContainers(pod).flatMap(container => (container.ports ?? []).map(({hostPort = 0}) => hostPort));
    return [...new Set(ports)].filter(port => port !== 0).sort((a, b) => a - b);
  },
};

export const tolerations: SignatureFragment = {
  key: 'v1.Pod.Spec.Tolerations',
  value({pod}) {
    const order = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
    return [...(pod.spec?.tolerations ?? [])].sort((a, b) => order(a.key, b.key) || order(a.value, b.value));
  },
};

/** The requests without the defaults for scoring, which containers that state none are counted with. */
export const resources: SignatureFragment = {
  key: 'v1.Pod.Spec.ContainerRequestsAndOverheads()',
  value: ({requests: {cpu, memory, ephemeralStorage, scalars}}) => ({
    MilliCPU: cpu,
    Memory: memory,
    EphemeralStorage: ephemeralStorage,
    ScalarResources: scalars.size > 0 ? Object.fromEntries(scalars) : null,
  }),
};

/** The sources of volumes. Config maps and secrets matter to no plugin, and differ between pods that are alike. */
export const volumes: SignatureFragment = {
  key: 'v1.Pod.Spec.Volumes.NonSyntheticSources()',
  *value({pod}): Steps<unknown> {
    const sources: string[] = [];
    for (const {name: _, ...source} of pod.spec?.volumes ?? [])
      if (!source.configMap && !source.secret) sources.push(yield* canonicalJsonInSteps(source));
    return sources.sort();
  },
};

export const requiredFeatures: SignatureFragment = {
  key: 'v1.Pod.Spec.RequiredFeatures()',
  value: ({pod}, {gate}) => (gate('NodeDeclaredFeatures') ? featuresForScheduling(pod.spec!).sort() : undefined),
};
