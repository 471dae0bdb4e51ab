// Finds simulated nodes by name or address, and their pods by address.

import {nodeAgent, type SimulatedAgent} from './node-agent.js';
import {isSwitchedOff} from './node/agent.js';
import {podsByAddress, type SimulationContext} from './node/context.js';
import type {PodReconciler} from './pods.js';

/** The location of a simulated node. */
export interface SimulatedNode {
  readonly name: string;
  readonly address: string;
  /** The port of its agent. */
  readonly port: number;
  /** Undefined while the node is switched off. */
  readonly agent: SimulatedAgent | undefined;
}

/** A pod of a simulated node. */
export interface SimulatedPod {
  readonly namespace: string;
  readonly pod: string;
  readonly node: SimulatedNode;
}

export interface Lookups {
  /** Returns the node with a name or address. */
  nodeAt(host: string): SimulatedNode | undefined;
  /** Returns the pod of a simulated node with an address. */
  podAt(address: string): SimulatedPod | undefined;
}

/** Looks up nodes by name and address, and pods by address. */
export const lookups = (context: SimulationContext, podReconciler: PodReconciler): Lookups => {
  let byHost: ReadonlyMap<string, string> = new Map();
  let known = 0;
  // Nodes have consecutive numbers: as many of them are the same ones.
  const nameOf = (host: string): string => {
    if (known !== context.agents.size)
      byHost = new Map(
        [...context.agents.values()].flatMap(({machine: {name, addresses}}) => [name, ...addresses].map(each => [each, name] as const)),
      );
    known = context.agents.size;
    return byHost.get(host) ?? '';
  };
  const agents = new Map<string, SimulatedAgent>();
  const agentFor = (name: string): SimulatedAgent => {
    let known = agents.get(name);
    if (!known) agents.set(name, (known = nodeAgent(context, podReconciler, name)));
    return known;
  };
  const nodeAt: Lookups['nodeAt'] = host => {
    const agent = context.agents.get(nameOf(host));
    if (!agent) return undefined;
    const {
      name,
      addresses: [address = ''],
      port,
    } = agent.machine;
    const isReachable = agent.registered && !isSwitchedOff(context.naming, agent, context.nodes.get(name), context.clock.monotonic());
    return {name, address, port, agent: isReachable ? agentFor(name) : undefined};
  };
  return {
    nodeAt,
    podAt(address) {
      for (const {metadata: {namespace = '', name: pod = ''} = {}, spec} of context.pods.by(podsByAddress, address)) {
        const node = nodeAt(spec?.nodeName ?? '');
        if (node && podReconciler.recordOf(`${namespace}/${pod}`)?.addresses.includes(address)) return {namespace, pod, node};
      }
      return undefined;
    },
  };
};
