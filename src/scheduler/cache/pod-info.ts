import {sameJson} from '#src/api/equal.js';
import {claimOfVolume} from '#src/model/volumes.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Container, ContainerStatus, Pod} from '#src/api/pod.js';
import {parseQuantity, type Quantity} from '#src/api/quantity.js';
import {podRequests} from '#src/model/pod/requests.js';
import {isPodLevelResource} from '#src/model/resource-names.js';
import {affinityTermsOf, type AffinityTerms} from './affinity-term.js';
import {resourcesOf, type Resources} from './resources.js';

// What scheduling reads of a pod, derived once when the pod changes: requests, ports, affinity terms.

/** A host port of a pod. */
export interface HostPort {
  readonly ip: string;
  readonly protocol: string;
  readonly port: number;
}

/** A pod with what the scheduler derives from it. */
export interface PodInfo {
  readonly pod: Frozen<Pod>;
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly requests: Readonly<Resources>;
  /** The requests used for scoring: containers that state no cpu or memory count with defaults. */
  readonly nonZeroRequests: {readonly cpu: number; readonly memory: number};
  readonly ports: readonly HostPort[];
  readonly terms: AffinityTerms;
  /** Names of the claims that it mounts, in its namespace. */
  readonly claims: readonly string[];
}

/** The default requests of a container for scoring. */
const defaultRequests: ReadonlyMap<string, Quantity> = new Map([
  ['cpu', parseQuantity('100m')],
  ['memory', parseQuantity('200Mi')],
]);

/** With pod-level resources, defaults apply only to the resources that the pod does not state. */
const missingDefaults = (pod: Frozen<Pod>, podLevel: boolean): ReadonlyMap<string, Quantity> => {
  const own = Object.keys(pod.spec?.resources?.requests ?? {}).filter(isPodLevelResource);
  if (!podLevel || own.length === 0) return defaultRequests;
  return new Map([...defaultRequests].filter(([name]) => !own.includes(name)));
};

/** Returns the host ports of a pod. Sidecars hold theirs for the pod's lifetime; other init containers hold none. */
export const hostPortsOf = ({spec}: Frozen<Pod>): HostPort[] => {
  const found: HostPort[] = [];
  const addFrom = ({ports = []}: Frozen<Container>): void => {
    for (const {hostPort = 0, hostIP, protocol} of ports)
      if (hostPort > 0) found.push({ip: hostIP || '0.0.0.0', protocol: protocol || 'TCP', port: hostPort});
  };
  for (const container of spec?.containers ?? []) addFrom(container);
  for (const container of spec?.initContainers ?? []) if (container.restartPolicy === 'Always') addFrom(container);
  return found;
};

/** Returns what a pod takes of its node: what it requests, or what it still has while it is resized to less. */
export const requestsOf = (pod: Frozen<Pod>, podLevel: boolean): Resources =>
  resourcesOf(podRequests(pod, {useStatusResources: true, podLevel}));

const statesAllDefaults = ({resources}: Frozen<Container>): boolean =>
  resources?.requests?.['cpu'] !== undefined && resources.requests['memory'] !== undefined;

/** Whether each container states the resources that count with defaults otherwise. */
const needsNoDefaults = ({spec}: Frozen<Pod>): boolean =>
  (spec?.containers ?? []).every(statesAllDefaults) && (spec?.initContainers ?? []).every(statesAllDefaults);

const claimsOf = (pod: Frozen<Pod>): readonly string[] => {
  const claims: string[] = [];
  for (const volume of pod.spec?.volumes ?? []) {
    const name = claimOfVolume(pod, volume);
    if (name !== undefined) claims.push(name);
  }
  return claims;
};

/** Derives the scheduling data of a pod. Throws a 400 for a malformed selector in its affinity. */
export const podInfoOf = (pod: Frozen<Pod>, {podLevel}: {readonly podLevel: boolean}): PodInfo => {
  const requests = requestsOf(pod, podLevel);
  const {cpu, memory} =
    needsNoDefaults(pod) || missingDefaults(pod, podLevel).size === 0
      ? requests
      : resourcesOf(podRequests(pod, {useStatusResources: true, podLevel, defaultRequests}));
  return {
    pod,
    key: keyText(keyOf(pod)),
    uid: pod.metadata?.uid ?? '',
    namespace: pod.metadata?.namespace ?? '',
    labels: pod.metadata?.labels ?? {},
    priority: pod.spec?.priority ?? 0,
    requests,
    nonZeroRequests: {cpu, memory},
    ports: hostPortsOf(pod),
    terms: affinityTermsOf(pod),
    claims: claimsOf(pod),
  };
};

type Statuses = readonly Frozen<ContainerStatus>[] | undefined;

const haveSameResources = (old: Statuses = [], now: Statuses = []): boolean =>
  old.length === now.length &&
  old.every(
    ({resources, allocatedResources}, at) =>
      sameJson(resources, now[at]!.resources) && sameJson(allocatedResources, now[at]!.allocatedResources),
  );

/**
 * Whether the update of a pod leaves everything that affects scheduling unchanged: its spec, its labels and the
 * resources of its containers.
 */
export const isSchedulingEqual = (old: Frozen<Pod>, now: Frozen<Pod>): boolean =>
  now.metadata?.generation !== undefined &&
  old.metadata?.generation === now.metadata.generation &&
  sameJson(old.metadata.labels, now.metadata.labels) &&
  haveSameResources(old.status?.containerStatuses, now.status?.containerStatuses) &&
  haveSameResources(old.status?.initContainerStatuses, now.status?.initContainerStatuses);
