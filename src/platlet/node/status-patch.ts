// What an agent writes of its node's status: the patch from one status to the next, and whether there is anything to
// write.

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
] as const satisfies readonly (keyof NodeStatus)[];

/** Returns the merge patch from one map of amounts to another: removed keys are set to null. */
const amountsPatch = (
  before: Readonly<Record<string, string>> = {},
  next: Readonly<Record<string, string>> = {},
): Record<string, string | null> => ({
  ...Object.fromEntries(Object.keys(before).map(name => [name, null])),
  ...next,
});

/**
 * Returns the strategic merge patch from one status to the next: the heartbeats of all conditions, and what changed.
 */
export const nodeStatusPatch = (before: Frozen<NodeStatus> | undefined, next: Frozen<NodeStatus>): Record<string, unknown> => {
  const changed = fields.filter(field => !sameJson(before?.[field], next[field]));
  return {
    ...Object.fromEntries(
      changed.map(field => [
        field,
        field === 'capacity' || field === 'allocatable' ? amountsPatch(before?.[field], next[field]) : (next[field] ?? null),
      ]),
    ),
    // A merge would join addresses of one type.
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
