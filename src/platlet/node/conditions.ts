// The conditions of a node, and the events about their changes.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {wireTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

export type NodeStatus = NonNullable<Node['status']>;
type NodeCondition = NonNullable<NodeStatus['conditions']>[number];

/** What is wrong with a node. */
export interface NodeFailures {
  /** Why it is not ready. */
  readonly notReady?: string;
  /** The types of pressure conditions that are true: `MemoryPressure`, `DiskPressure`, `PIDPressure`. */
  readonly pressures: readonly string[];
  /** A remark in the message of a ready node. */
  readonly remark?: string;
}

const capitalized = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

const pressureTexts = [
  {
    type: 'MemoryPressure',
    well: ['HasSufficientMemory', 'has sufficient memory available'],
    badly: ['HasInsufficientMemory', 'has insufficient memory available'],
  },
  {type: 'DiskPressure', well: ['HasNoDiskPressure', 'has no disk pressure'], badly: ['HasDiskPressure', 'has disk pressure']},
  {
    type: 'PIDPressure',
    well: ['HasSufficientPID', 'has sufficient PID available'],
    badly: ['HasInsufficientPID', 'has insufficient PID available'],
  },
] as const;

/** The event reasons for the start and the end of each pressure. */
const pressureEvents = new Map(
  pressureTexts.map(({type, well: healthy, badly: unhealthy}) => [
    type as string,
    {False: `Node${healthy[0]}`, True: `Node${unhealthy[0]}`},
  ]),
);

const ownConditions = (
  {agent}: Naming,
  {notReady, pressures, remark = ''}: NodeFailures,
): Omit<NodeCondition, 'lastHeartbeatTime' | 'lastTransitionTime'>[] => [
  ...pressureTexts.map(({type, well: healthy, badly: unhealthy}) => {
    const isPressed = pressures.includes(type);
    const [reason, text] = isPressed ? unhealthy : healthy;
    return {type, status: isPressed ? 'True' : 'False', reason: `${capitalized(agent)}${reason}`, message: `${agent} ${text}`};
  }),
  notReady === undefined
    ? {type: 'Ready', status: 'True', reason: `${capitalized(agent)}Ready`, message: `${agent} is posting ready status${remark}`}
    : {type: 'Ready', status: 'False', reason: `${capitalized(agent)}NotReady`, message: notReady},
];

/** Returns the conditions of a node: those set by others first, then the agent's, with `Ready` last. */
export const nodeConditions = (
  naming: Naming,
  failures: NodeFailures,
  known: Frozen<NodeStatus>['conditions'] = [],
  now: number,
): NodeCondition[] => {
  const own = ownConditions(naming, failures).map(condition => {
    const old = known.find(({type}) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status && old.lastTransitionTime ? old.lastTransitionTime : wireTime(now);
    return {...condition, lastHeartbeatTime: wireTime(now), lastTransitionTime};
  });
  return [...(known as readonly NodeCondition[]).filter(({type}) => !own.some(condition => condition.type === type)), ...own];
};

/** Returns the reference to a node in events: its uid is the node name, by which clients look events up. */
export const nodeReference = (naming: Naming, name: string) => ({
  apiVersion: naming.apiVersion('', 'v1'),
  kind: kinds.nodes.kind,
  metadata: {name, uid: name},
});

/** Records events for changes of the node's conditions. */
export const recordConditionEvents = (
  {naming, events, name}: {readonly naming: Naming; readonly events: EventRecorder; readonly name: string},
  before: Frozen<NodeStatus> | undefined,
  next: Frozen<NodeStatus>,
): void => {
  const reference = nodeReference(naming, name);
  for (const {type, status} of next.conditions ?? []) {
    const old = before?.conditions?.find(condition => condition.type === type)?.status;
    const pressure = pressureEvents.get(type)?.[status as 'True' | 'False'];
    const reason = pressure ?? (type === 'Ready' ? (status === 'True' ? 'NodeReady' : 'NodeNotReady') : undefined);
    if (reason && old !== status) events.normal(reference, reason, `Node ${name} status is now: ${reason}`);
  }
};
