import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {Lease, Node} from '#src/api/types.js';
import {conditionOf, type NodeCondition} from './taints.js';

/** What is remembered of a node. Times are of the own clock, in ms: nodes have clocks of their own. */
export interface Health {
  /** When the node last gave a sign of life. */
  readonly probedAt: number;
  /** When it last became ready or ceased to be. */
  readonly transitionedAt: number;
  /** How it last said it was, or was said to be. */
  readonly ready: NodeCondition | undefined;
  /** When its lease was last renewed, by its own clock. */
  readonly renewedAt?: number;
}

/** How long nodes may be silent, in ms: once they said how they are, and before. */
export interface Grace {
  readonly monitorMs: number;
  readonly startupMs: number;
}

/** What a look at a node shows. */
export interface Observation {
  readonly health: Health;
  /** Whether it was ready before the look; one that never said is unknown since its creation. */
  readonly observed: NodeCondition;
  /** Whether it is now. */
  readonly current: NodeCondition | undefined;
  /** Its conditions, where they must be written: it was silent for too long. */
  readonly conditions?: readonly NodeCondition[];
}

/** The conditions that nobody knows any more once a node is silent. Whether its network is set up is for others to say. */
const monitoredConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

const createdAt = ({metadata}: Frozen<Node>): string => metadata?.creationTimestamp ?? wireTime(0);

const withProbe = (node: Frozen<Node>, ready: NodeCondition | undefined, before: Health | undefined, now: number): Health => {
  if (!before && !ready) {
    const created = parseTime(createdAt(node)) ?? now;
    return {probedAt: created, transitionedAt: created, ready};
  }
  if (!before || !before.ready !== !ready) return {...before, probedAt: now, transitionedAt: now, ready};
  if (!ready || before.ready?.lastHeartbeatTime === ready.lastHeartbeatTime) return before;
  return {...before, probedAt: now, transitionedAt: before.ready?.lastTransitionTime === ready.lastTransitionTime ? before.transitionedAt : now, ready};
};

/** With its lease alone a node shows that it lives. */
const withLease = (health: Health, lease: Frozen<Lease> | undefined, now: number): Health => {
  const renewedAt = parseTime(lease?.spec?.renewTime);
  if (renewedAt === undefined || (health.renewedAt !== undefined && renewedAt <= health.renewedAt)) return health;
  return {...health, probedAt: now, renewedAt};
};

const unknownConditions = (naming: Naming, node: Frozen<Node>, now: number): readonly NodeCondition[] => {
  const lastTransitionTime = wireTime(now);
  const {agent} = naming;
  const capitalized = `${agent.charAt(0).toUpperCase()}${agent.slice(1)}`;
  const silence = {status: 'Unknown', reason: 'NodeStatusUnknown', message: `${capitalized} stopped posting node status.`, lastTransitionTime};
  const conditions = (node.status?.conditions ?? []).map(condition =>
    monitoredConditions.includes(condition.type) && condition.status !== 'Unknown' ? {...condition, ...silence} : condition,
  );
  const missing = monitoredConditions.filter(type => !conditions.some(condition => condition.type === type));
  const never = {status: 'Unknown', reason: 'NodeStatusNeverUpdated', message: `${capitalized} never posted node status.`, lastHeartbeatTime: createdAt(node), lastTransitionTime};
  return [...conditions, ...missing.map(type => ({type, ...never}))];
};

/** Looks at a node: what it says of itself, when it last did, and whether that is too long ago. */
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

/** What is remembered once the conditions that a look asked for are written. */
export const healthAfterWrite = ({health, current}: Observation, now: number): Health => ({...health, transitionedAt: now, ready: current});
