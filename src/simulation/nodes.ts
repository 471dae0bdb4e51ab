import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isForbidden, isInvalid, isNotFound, type StatusError} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {isDrainRequested, isSwitchedOff, nextPowerChange, type Agent} from './node/agent.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import {drain} from './node/drain.js';
import {renewNodeLease, reportStatus, reportVolumes} from './node/heartbeat.js';
import {register} from './node/registration.js';
import {podsByNode, type SimulationContext} from '#src/simulation/node/context.js';

export interface NodeHooks {
  /** Announces drivers and devices on a registered node. Returns the delay in ms until the next announcement. */
  announce(agent: Agent, node: Frozen<Node>): Promise<number>;
  /** Looks at the pressure of a node, and evicts pods. Returns the delay in ms until the next look. */
  look(agent: Agent, node: Frozen<Node>): number;
  /** Called after the first sync of a node, whatever its result. */
  registered(name: string): void;
  /** Called when a node has reported its status, or cannot because it is switched off or deleted. */
  reported(name: string): void;
  /** Called when a registration fails permanently. */
  refused(error: StatusError): void;
}

const recordSchedulable = (naming: Naming, agent: Agent, {spec}: Frozen<Node>): void => {
  const {
    machine: {name},
    events,
    schedulable: before,
  } = agent;
  agent.schedulable = !spec?.unschedulable;
  const reason = agent.schedulable ? 'NodeSchedulable' : 'NodeNotSchedulable';
  if (before !== undefined && before !== agent.schedulable)
    events.normal(nodeReference(naming, name), reason, `Node ${name} status is now: ${reason}`);
};

const podsOn = (context: SimulationContext, {machine: {name}}: Agent): readonly Frozen<Pod>[] => context.pods.by(podsByNode, name);

/** Renews the lease and reports the status. Returns the delay in ms until the next heartbeat has something to do. */
const heartbeat = async (context: SimulationContext, look: NodeHooks['look'], agent: Agent, node: Frozen<Node>): Promise<number> => {
  const {clock, random, naming} = context;
  const isNew = agent.schedulable === undefined;
  await renewNodeLease(context, agent, node);
  const lookMs = look(agent, node);
  await reportStatus(context, agent, node);
  await reportVolumes(agent, node);
  recordSchedulable(naming, agent, node);
  // Renewals of many nodes are spread over the period.
  if (isNew) agent.renewAt = Math.ceil(clock.monotonic() + random.float() * context.renewMs);
  return isDrainRequested(naming, node) ? Math.min(lookMs, await drain(context, agent, node, podsOn(context, agent))) : lookMs;
};

/** Reconciles simulated nodes: registers each once, then renews its lease and reports its status. */
export const createNodeReconciler = (context: SimulationContext, {registered, reported, refused, announce, look}: NodeHooks): Reconcile => {
  const {clock, naming, nodes, agents} = context;
  const reportRefusal = (error: unknown): never => {
    if (isForbidden(error) || isInvalid(error)) refused(error);
    throw error;
  };

  return async ({name}) => {
    const agent = agents.get(name);
    if (!agent) return settled;
    // The timeline detects a change of the wall clock when it is read, at the latest with each heartbeat.
    context.timeline.now();
    const now = clock.monotonic();
    const requeueIn = (afterMs: number) => {
      const wait = Math.min(afterMs, nextPowerChange(agent, now) - now, agent.announceAt - now);
      return wait === Infinity ? settled : requeueAfter(Math.max(0, wait));
    };
    // A deleted Node is not created again until the agent restarts.
    const wasRegistered = agent.registered;
    const node = wasRegistered ? nodes.get(name) : await register(context, agent).catch(reportRefusal);
    if (node && (!wasRegistered || agent.announceAt <= now)) agent.announceAt = now + (await announce(agent, node));
    const wasPoweredOff = agent.isPoweredOff;
    agent.isPoweredOff = isSwitchedOff(naming, agent, node, now);
    try {
      if (!node || agent.isPoweredOff) {
        reported(name);
        return requeueIn(Infinity);
      }
      if (wasPoweredOff) for (const pod of podsOn(context, agent)) context.enqueuePod(keyText(keyOf(pod)));
      const afterMs = await heartbeat(context, look, agent, node);
      reported(name);
      return requeueIn(Math.min(afterMs, agent.renewAt - now));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return requeueIn(context.renewMs);
    } finally {
      registered(name);
    }
  };
};
