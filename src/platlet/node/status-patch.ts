// The patch between two node statuses, and the comparison that decides whether one is written.

import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {NodeStatus} from './conditions.js';

const fields = [
  'capacity',
  'allocatable',
  'images',
  'daemonEndpoints',
  'nodeInfo',
  'features',
  'runtimeHandlers',
  'volumesInUse',
  'declaredFeatures',
] as const satisfies readonly (keyof NodeStatus)[];

/** Returns the merge patch between two maps of quantities: removed keys are set to null, and equal ones left out. */
const amountsPatch = (
  before: Readonly<Record<string, string>> = {},
  next: Readonly<Record<string, string>> = {},
): Record<string, string | null> => ({
  ...Object.fromEntries(Object.keys(before).flatMap(name => (next[name] === undefined ? [[name, null]] : []))),
  ...Object.fromEntries(Object.entries(next).filter(([name, amount]) => before[name] !== amount)),
});

/** Returns the strategic merge patch between two statuses: the heartbeats of all conditions, and the changes. */
export const nodeStatusPatch = (before: Frozen<NodeStatus> | undefined, next: Frozen<NodeStatus>): Record<string, unknown> => {
  const changed = fields.filter(field => !sameJson(before?.[field], next[field]));
  return {
    ...Object.fromEntries(
      changed.map(field => [
        field,
        field === 'capacity' || field === 'allocatable' ? amountsPatch(before?.[field], next[field]) : (next[field] ?? null),
      ]),
    ),
    // The merge key is the type: addresses of equal type would be merged.
    ...(sameJson(before?.addresses, next.addresses) ? {} : {addresses: [...(next.addresses ?? []), {$patch: 'replace'}]}),
    conditions: next.conditions,
  };
};

const withoutHeartbeats = ({conditions = [], ...rest}: Frozen<NodeStatus>): unknown => ({
  ...rest,
  conditions: conditions.map(condition => ({...condition, lastHeartbeatTime: undefined})),
});

/** Whether two statuses differ in more than heartbeats. */
export const statusDiffers = (a: Frozen<NodeStatus> | undefined, b: Frozen<NodeStatus>): boolean =>
  !a || !sameJson(withoutHeartbeats(a), withoutHeartbeats(b));
