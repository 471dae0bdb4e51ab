// The taints that follow from a node's conditions.

import type {TaintChange} from '#controllers/shared/node-taints.js';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {Taint} from '#src/model/taints.js';

export type NodeCondition = Frozen<NonNullable<NonNullable<Node['status']>['conditions']>[number]>;

export const conditionOf = ({status}: Frozen<Node>, type: string): NodeCondition | undefined =>
  status?.conditions?.find(condition => condition.type === type);

/** The taint for each condition and status. */
const byCondition: readonly (readonly [type: string, status: string, name: string])[] = [
  ['Ready', 'False', 'not-ready'],
  ['Ready', 'Unknown', 'unreachable'],
  ['MemoryPressure', 'True', 'memory-pressure'],
  ['DiskPressure', 'True', 'disk-pressure'],
  ['PIDPressure', 'True', 'pid-pressure'],
  ['NetworkUnavailable', 'True', 'network-unavailable'],
];
const cordoned = 'unschedulable';

/** The taints for eviction, by the status of `Ready`. */
export const evicting = (naming: Naming): Readonly<Record<'False' | 'Unknown', Taint>> => ({
  False: {key: naming.subKey('node', 'not-ready'), effect: 'NoExecute'},
  Unknown: {key: naming.subKey('node', 'unreachable'), effect: 'NoExecute'},
});

/**
 * The NoSchedule taints follow from a node's conditions and whether it is cordoned. Taints with other keys or effects
 * are left alone.
 */
export const schedulingChange = (naming: Naming, node: Frozen<Node>): TaintChange => {
  const conditionTaints = byCondition.filter(([type, status]) => conditionOf(node, type)?.status === status).map(([, , name]) => name);
  const desired = new Set([...conditionTaints, ...(node.spec?.unschedulable ? [cordoned] : [])].map(name => naming.subKey('node', name)));
  const managedKeys = new Set([...byCondition.map(([, , name]) => name), cordoned].map(name => naming.subKey('node', name)));
  const has = (node.spec?.taints ?? []).filter(({key, effect}) => effect === 'NoSchedule' && managedKeys.has(key));
  return {
    add: [...desired].filter(key => !has.some(taint => taint.key === key)).map(key => ({key, effect: 'NoSchedule'})),
    remove: has.filter(({key}) => !desired.has(key)),
  };
};
