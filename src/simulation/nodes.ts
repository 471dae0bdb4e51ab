import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isForbidden, isInvalid, isNotFound, type StatusError} from '#src/api/status.js';
import type {Node} from '#src/api/types.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {isDrained, isOff, nextSwitch, nodeReference, type Agent} from './node/agent.js';
import {drain} from './node/drain.js';
import {renew, renewMs, report} from './node/heartbeat.js';
import {register} from './node/registration.js';
import {podsByNode, type SimulationWorld} from './world.js';

export interface NodeHooks {
  /** Called when a node was looked at for the first time, whatever came of it. */
  registered(name: string): void;
  /** Called when a node has told its status, or has nothing to tell because it is off or gone. */
  reported(name: string): void;
  /** Called with a refusal of a registration that can never succeed. */
  refused(error: StatusError): void;
}

/** Keeps the nodes themselves: registers each once, then tells that it lives and how it is. */
export const nodeKeeper = (world: SimulationWorld, {registered, reported, refused}: NodeHooks): Reconcile => {
  const {clock, random, naming, nodes, agents} = world;
  const podsOn = ({machine: {name}}: Agent): readonly Frozen<Pod>[] => world.pods.by(podsByNode, name);

  const tellSchedulable = (agent: Agent, {spec}: Frozen<Node>): void => {
    const {machine: {name}, events, schedulable: before} = agent;
    agent.schedulable = !spec?.unschedulable;
    const reason = agent.schedulable ? 'NodeSchedulable' : 'NodeNotSchedulable';
    if (before !== undefined && before !== agent.schedulable) events.normal(nodeReference(naming, name), reason, `Node ${name} status is now: ${reason}`);
  };

  const beat = async (agent: Agent, node: Frozen<Node>): Promise<number> => {
    const isNew = agent.schedulable === undefined;
    await renew(world, agent, node);
    await report(world, agent, node);
    tellSchedulable(agent, node);
    // The beats of many nodes spread over the whole time between two.
    if (isNew) agent.renewAt = Math.ceil(clock.monotonic() + random.float() * renewMs);
    return isDrained(naming, node) ? drain(world, agent, node, podsOn(agent)) : Infinity;
  };

  const tellRefusal = (error: unknown): never => {
    if (isForbidden(error) || isInvalid(error)) refused(error);
    throw error;
  };

  return async ({name}) => {
    const agent = agents.get(name);
    if (!agent) return settled;
    const now = clock.monotonic();
    const again = (afterMs: number) => {
      const wait = Math.min(afterMs, nextSwitch(agent, now) - now);
      return wait === Infinity ? settled : requeueAfter(Math.max(0, wait));
    };
    // A Node that somebody deleted stays away until the agent is started again.
    const node = agent.registered ? nodes.get(name) : await register(world, agent).catch(tellRefusal);
    const wasOff = agent.off;
    agent.off = isOff(naming, agent, node, now);
    try {
      if (!node || agent.off) {
        reported(name);
        return again(Infinity);
      }
      if (wasOff) for (const pod of podsOn(agent)) world.lookAtPod(keyText(keyOf(pod)));
      const afterMs = await beat(agent, node);
      reported(name);
      return again(Math.min(afterMs, agent.renewAt - now));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return again(renewMs);
    } finally {
      registered(name);
    }
  };
};
