// Creates the agents of simulated nodes, before their registration.

import type {Naming} from '#src/api/naming.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {Client} from '#src/client/client.js';
import {emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import {Recorder} from '#src/runtime/events/events.js';
import {NodeDevices} from '#src/simulation/node-devices/node-devices.js';
import {offeredDevices} from '#src/simulation/node-devices/offered.js';
import type {Rules} from '#src/simulation/rules/rules.js';
import {unpressed, type Agent} from './agent.js';
import {emptyImages} from './images.js';
import type {Machine} from './node-object.js';

/**
 * The rate per second and the burst of normal events of all nodes together. The agents of real nodes have such a limit
 * each; simulated ones share the thread of one server, which would otherwise be busier with the five events of each pod
 * of a large rollout than with the pods.
 */
const [eventsPerSecond, eventBurst] = [50, 500];

export interface AgentsContext {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly rules: Rules;
  /** Returns a client with the identity of a node. */
  clientAs(user: UserInfo): Client;
}

/** Returns a function that creates the agent of a machine. */
export const agentCreator = (context: AgentsContext): ((machine: Machine, isSuccessor: boolean) => Agent) => {
  const budget = new TokenBucket(context.clock, eventsPerSecond, eventBurst);
  return (machine, isSuccessor) => ({...createAgent(machine, context, budget), isSuccessor});
};

const createAgent = (
  machine: Machine,
  {naming, clock, random, log, signal, rules, clientAs}: AgentsContext,
  budget: TokenBucket,
): Omit<Agent, 'isSuccessor'> => {
  const {name} = machine;
  const client = clientAs({name: `${wellKnown.nodeUserPrefix}${name}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  return {
    machine,
    client,
    events: new Recorder({client, clock, random, log, component: naming.agent, host: name, signal, budget}),
    images: emptyImages(),
    allocation: emptyAllocation(),
    devices: new NodeDevices(offeredDevices(rules, name)),
    pools: new Map(),
    volumesInUse: new Map(),
    deferred: new Set(),
    registered: false,
    announceAt: Infinity,
    pressure: unpressed,
    shutdown: undefined,
    startedAt: clock.monotonic(),
    isPoweredOff: false,
    renewAt: 0,
    reportedAt: -Infinity,
  };
};
