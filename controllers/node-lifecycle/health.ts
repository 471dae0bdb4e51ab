import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Lease, Node} from '#src/api/types.js';
import {conditionOf, type NodeCondition} from './taints.js';

/** The health record of a node. Times are of the controller's clock, in ms, as node clocks may differ. */
export interface Health {
  /** The last heartbeat. */
  readonly probedAt: number;
  /** The last transition of readiness. */
  readonly transitionedAt: number;
  /** The last observed or written Ready condition. */
  readonly ready: NodeCondition | undefined;
  /** The last renewal of its lease, by the node's clock. */
  readonly renewedAt?: number;
}

/** How long nodes may be silent, in ms: after the first status, and before. */
export interface Grace {
  readonly monitorMs: number;
  readonly startupMs: number;
}

/** The result of checking a node. */
export interface Observation {
  readonly health: Health;
  /** The Ready condition before the check; Unknown since creation if the node never reported one. */
  readonly observed: NodeCondition;
  /** The Ready condition after the check. */
  readonly current: NodeCondition | undefined;
  /** The conditions to write, if the node was silent for too long. */
  readonly conditions?: readonly NodeCondition[];
}

/** The conditions that become Unknown for a silent node. NetworkUnavailable is set by others. */
const monitoredConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

const createdAt = ({metadata}: Frozen<Node>): string => metadata?.creationTimestamp ?? wireTime(0);

const withProbe = (node: Frozen<Node>, ready: NodeCondition | undefined, before: Health | undefined, now: number): Health => {
  if (!before && !ready) {
    const created = parseTime(createdAt(node)) ?? now;
    return {probedAt: created, transitionedAt: created, ready};
  }
  if (!before || !before.ready !== !ready) return {...before, probedAt: now, transitionedAt: now, ready};
  if (!ready || before.ready?.lastHeartbeatTime === ready.lastHeartbeatTime) return before;
  return {
    ...before,
    probedAt: now,
    transitionedAt: before.ready?.lastTransitionTime === ready.lastTransitionTime ? before.transitionedAt : now,
    ready,
  };
};

/**
 * A lease renewal is a heartbeat too, also by a clock that was set back. Differs from the original, which waits until
 * that clock has caught up.
 */
const withLease = (health: Health, lease: Frozen<Lease> | undefined, now: number): Health => {
  const renewedAt = parseTime(lease?.spec?.renewTime);
  if (renewedAt === undefined || renewedAt === health.renewedAt) return health;
  return {...health, probedAt: now, renewedAt};
};

const unknownConditions = (naming: Naming, node: Frozen<Node>, now: number): readonly NodeCondition[] => {
  const lastTransitionTime = wireTime(now);
  const {agent} = naming;
  const capitalized = `${agent.charAt(0).toUpperCase()}${agent.slice(1)}`;
  const silence = {
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: `${capitalized} stopped posting node status.`,
    lastTransitionTime,
  };
  const conditions = (node.status?.conditions ?? []).map(condition =>
    monitoredConditions.includes(condition.type) && condition.status !== 'Unknown' ? {...condition, ...silence} : condition,
  );
  const missing = monitoredConditions.filter(type => !conditions.some(condition => condition.type === type));
  const never = {
    status: 'Unknown',
    reason: 'NodeStatusNeverUpdated',
    message: `${capitalized} never posted node status.`,
    lastHeartbeatTime: createdAt(node),
    lastTransitionTime,
  };
  return [...conditions, ...missing.map(type => ({type, ...never}))];
};

/** Checks a node's conditions and heartbeat, and whether the grace period has passed. */
export const observe = (
  {naming, grace, now}: {readonly naming: Naming; readonly grace: Grace; readonly now: number},
  node: Frozen<Node>,
  lease: Frozen<Lease> | undefined,
  before: Health | undefined,
): Observation => {
  const ready = conditionOf(node, 'Ready');
  const created = createdAt(node);
  const observed = ready ?? {type: 'Ready', status: 'Unknown', lastHeartbeatTime: created, lastTransitionTime: created};
  const health = withLease(withProbe(node, ready, before, now), lease, now);
  const isExpired = now > health.probedAt + (ready ? grace.monitorMs : grace.startupMs);
  if (!isExpired || ready?.status === 'Unknown') return {health, observed, current: ready};
  const conditions = unknownConditions(naming, node, now);
  return {health, observed, current: conditions.find(({type}) => type === 'Ready'), conditions};
};

/** Returns the health record after the conditions were written. */
export const healthAfterWrite = ({health, current}: Observation, now: number): Health => ({...health, transitionedAt: now, ready: current});
