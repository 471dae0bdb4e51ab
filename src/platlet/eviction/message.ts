// What is said of a pod that is evicted.

import type {Frozen} from '#src/api/key.js';
import type {ContainerStats, PodStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, formatQuantity, parseQuantity, quantityOf, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {hasPodLevelResources, memoryUsage} from './pod-usage.js';
import {signals, type Observations, type StarvedResource} from './signals.js';
import {amountOf, type Threshold} from './thresholds.js';

/** The status reason of evicted pods. */
export const evictedReason = 'Evicted';

export interface EvictionText {
  readonly message: string;
  /** Of the event. */
  readonly annotations: Readonly<Record<string, string>>;
}

/** Why pods are evicted. */
export interface EvictionCause {
  readonly resource: StarvedResource;
  /** Those that are met. */
  readonly thresholds: readonly Threshold[];
  readonly observations: Observations;
  readonly withPodLevel: boolean;
}

const thresholdText = ({resource, thresholds, observations}: EvictionCause): string => {
  for (const {signal, value} of thresholds) {
    const observation = observations.get(signal);
    if (signals[signal].resource !== resource || !observation) continue;
    const least = formatQuantity(amountOf(value, observation.capacity));
    return `Threshold quantity: ${least}, available: ${formatQuantity(observation.available)}. `;
  }
  return '';
};

const usageOf = (resource: StarvedResource, {memoryBytes, rootfs, logs}: ContainerStats): Quantity | undefined => {
  if (resource === 'memory') return quantityOf(memoryBytes, 'BinarySI');
  if (resource !== 'ephemeral-storage' || rootfs?.usedBytes === undefined || logs?.usedBytes === undefined) return undefined;
  return quantityOf(rootfs.usedBytes + logs.usedBytes, 'BinarySI');
};

interface Exceeding {
  readonly name: string;
  readonly usage: string;
  readonly request: string;
}

/** The containers that use more than they have requested. */
const exceeding = ({spec}: Frozen<Pod>, stats: PodStats, resource: StarvedResource): readonly Exceeding[] => {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  return stats.containers.flatMap(measured => {
    const container = containers.find(({name}) => name === measured.name);
    const usage = usageOf(resource, measured);
    const text = container?.resources?.requests?.[resource];
    const request = text === undefined ? zeroQuantity : parseQuantity(text);
    if (!container || !usage || compareQuantities(usage, request) <= 0) return [];
    return [{name: container.name, usage: formatQuantity(usage), request: formatQuantity(request)}];
  });
};

const sentence = (kind: string, {name, usage, request}: Exceeding, resource: StarvedResource): string =>
  `${kind} ${name} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;

/** What a pod as a whole uses, where it has requested memory as a whole. */
const wholePod = (pod: Frozen<Pod>, stats: PodStats, {resource, withPodLevel}: EvictionCause): Exceeding | undefined => {
  const text = pod.spec?.resources?.requests?.['memory'];
  if (resource !== 'memory' || !withPodLevel || !hasPodLevelResources(pod) || text === undefined) return undefined;
  return {name: pod.metadata?.name ?? '', usage: formatQuantity(memoryUsage(stats)), request: formatQuantity(parseQuantity(text))};
};

/** Returns what is said of a pod that is evicted for a resource, by its measurements if there are any. */
export const evictionText = (pod: Frozen<Pod>, stats: PodStats | undefined, cause: EvictionCause): EvictionText => {
  const {resource} = cause;
  const beginning = `The node was low on resource: ${resource}. ${thresholdText(cause)}`;
  if (!stats) return {message: beginning, annotations: {}};
  const whole = wholePod(pod, stats, cause);
  const containers = exceeding(pod, stats, resource);
  const ofPod = whole ? sentence('Pod', whole, resource) : '';
  return {
    message: `${beginning}${ofPod}${containers.map(each => sentence('Container', each, resource)).join('')}`,
    annotations: {
      ...(whole ? {offending_pod: whole.name, offending_pod_usage: whole.usage} : {}),
      offending_containers: containers.map(({name}) => name).join(','),
      offending_containers_usage: containers.map(({usage}) => usage).join(','),
      starved_resource: resource,
    },
  };
};
