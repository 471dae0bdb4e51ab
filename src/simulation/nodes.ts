import {isNotFound} from '#src/api/status.js';
import {againAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import {isStopped} from './node/agent.js';
import {renew, renewMs, report} from './node/heartbeat.js';
import {register} from './node/registration.js';
import type {SimulationWorld} from './world.js';

/** Keeps the nodes themselves: registers each once, then tells that it lives and how it is. */
export const nodeKeeper = (world: SimulationWorld, registered: (name: string) => void): Reconcile => {
  const {clock, random, naming, nodes, agents} = world;
  return async ({name}) => {
    const agent = agents.get(name);
    if (!agent) return settled;
    const isNew = !agent.registered;
    // A Node that somebody deleted stays away until the agent is started again.
    const node = isNew ? await register(world, agent) : nodes.get(name);
    if (!node || isStopped(naming, node)) {
      if (isNew) registered(name);
      return settled;
    }
    try {
      await renew(world, agent, node);
      await report(world, agent, node);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    if (isNew) {
      registered(name);
      // The beats of many nodes spread over the whole time between two.
      agent.renewAt = Math.ceil(clock.monotonic() + random.float() * renewMs);
    }
    return againAfter(Math.max(0, agent.renewAt - clock.monotonic()));
  };
};
