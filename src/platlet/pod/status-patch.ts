// How the pod status of a node is merged with fields that others own.

import {sameFieldsBut, sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {ContainerStatus, Pod, PodCondition} from '#src/api/pod.js';
import {mayRestart} from '#src/model/pod/restart.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import {transientConditions} from './conditions.js';
import {statusesByName, type ContainerStatuses} from './container-statuses.js';
import type {OwnStatus, PodResourcesStatus} from './status.js';

const ownFields = [
  'phase',
  'reason',
  'message',
  'observedGeneration',
  'hostIP',
  'hostIPs',
  'podIP',
  'podIPs',
  'startTime',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'resources',
  'allocatedResources',
] as const;

type Status = NonNullable<Frozen<Pod>['status']> & PodResourcesStatus;

const lastProbe: ReadonlySet<string> = new Set(['lastProbeTime']);

/** Returns the changed conditions, with null for removed fields: lists are merged by key. */
const changedConditions = (own: readonly PodCondition[], before: readonly Frozen<PodCondition>[]): Record<string, unknown>[] =>
  own.flatMap(condition => {
    const stored = before.find(({type}) => type === condition.type);
    if (stored && sameFieldsBut(condition, stored, lastProbe)) return [];
    const changed: Record<string, unknown> = {...condition};
    for (const key in stored ?? {}) if (!(key in condition) && !lastProbe.has(key)) changed[key] = null;
    return [changed];
  });

/** Lists merged by address. */
const addressFields = ['hostIPs', 'podIPs'] as const;

/** Returns the patch that turns one merged list of addresses into another. */
const addressPatch = (own: readonly {readonly ip: string}[], before: readonly {readonly ip?: string}[] = []): readonly object[] => [
  ...own,
  ...before.filter(({ip}) => !own.some(address => address.ip === ip)).map(({ip}) => ({ip, $patch: 'delete'})),
];

/** Returns the strategic merge patch that updates the stored status to `own`; undefined if it is up to date. */
export const statusPatch = ({status: stored = {}}: Frozen<Pod>, own: OwnStatus): Record<string, unknown> | undefined => {
  const status: Status = stored;
  const patch: Record<string, unknown> = {};
  for (const field of ownFields) {
    if (own[field] === undefined) {
      if (status[field] !== undefined) patch[field] = null;
    } else if (!sameJson(own[field], status[field])) patch[field] = own[field];
  }
  for (const field of addressFields) {
    const addresses = own[field] as readonly {readonly ip: string}[] | undefined;
    if (!addresses || !patch[field]) continue;
    patch[field] = addressPatch(addresses, status[field]);
    patch[`$setElementOrder/${field}`] = addresses.map(({ip}) => ({ip}));
  }
  const others = (status.conditions ?? []).filter(({type}) => !own.conditions?.some(condition => condition.type === type));
  const removed = others.filter(({type}) => transientConditions.includes(type));
  const conditions = [
    ...changedConditions(own.conditions ?? [], status.conditions ?? []),
    ...removed.map(({type}) => ({type, $patch: 'delete'})),
  ];
  if (conditions.length > 0) {
    patch['$setElementOrder/conditions'] = [
      ...others.filter(({type}) => !transientConditions.includes(type)),
      ...(own.conditions ?? []),
    ].map(({type}) => ({type}));
    patch['conditions'] = conditions;
  }
  return Object.keys(patch).length > 0 ? patch : undefined;
};

/** Whether two statuses differ only in what a patch has set, as far as the node reads them. */
export const differsByPatch = (before: Status = {}, now: Status = {}, patch: Record<string, unknown>): boolean => {
  const patched = new Set(((patch['conditions'] ?? []) as readonly Frozen<PodCondition>[]).map(({type}) => type));
  const others = ({conditions = []}: Status) => conditions.filter(({type}) => !patched.has(type));
  return ownFields.every(field => field in patch || sameJson(before[field], now[field])) && sameJson(others(before), others(now));
};

/**
 * Returns the name of a container that was reported as terminated for good and would no longer be; undefined if there
 * is none.
 */
export const illegalTransition = ({spec, status}: Frozen<Pod>, own: ContainerStatuses): string | undefined => {
  const before: ReadonlyMap<string, Frozen<ContainerStatus>> = statusesByName(status);
  const after = statusesByName(own);
  for (const {container, role} of specContainers(spec!)) {
    const ended = before.get(container.name)?.state?.terminated;
    if (!ended || role === 'sidecar' || role === 'ephemeral' || after.get(container.name)?.state?.terminated) continue;
    // All init containers run again in a new sandbox.
    if (role === 'init' && ended.exitCode === 0) continue;
    if (!mayRestart(container, spec!, ended.exitCode)) return container.name;
  }
  return undefined;
};
