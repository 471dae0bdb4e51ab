import type {Duplex} from 'node:stream';
import type {NodeAgent} from '#src/api/node/agent.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {InProcessServer} from '#src/serving/agent/in-process.js';
import type {SimulatedNode, SimulatedPod} from '#src/simulation/lookups.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {endpoint, systemNetwork, type Network} from '#src/transport/network.js';
import type {SimulatedNodes} from './simulated-nodes.js';

export interface SimulatedNetworkParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly nodes: SimulatedNodes;
}

/**
 * The network of this machine, extended by the agents of simulated nodes and their pods at their addresses: within this
 * process, without a socket.
 */
export const simulatedNetwork = (parts: SimulatedNetworkParts): Network => {
  const {clock, nodes} = parts;
  const system = systemNetwork(clock);
  const servers = new Map<string, Promise<InProcessServer>>();
  const serverOf = (node: string, agent: NodeAgent): Promise<InProcessServer> => {
    let server = servers.get(node);
    if (!server) servers.set(node, (server = serve(agent, parts)));
    return server;
  };
  return {
    dial: (host, port) => system.dial(host, port),
    async resolve(host) {
      const {address} = nodes.nodeAt(host) ?? {};
      return address === undefined ? system.resolve(host) : [address];
    },
    within(host, port) {
      const node = nodes.nodeAt(host);
      if (node) return toAgent(node, port, agent => serverOf(node.name, agent));
      const pod = nodes.podAt(host);
      return pod && toPod(pod, host, port);
    },
  };
};

const toAgent = async (
  {address, port: agentPort, agent}: SimulatedNode,
  port: string,
  serverOf: (agent: NodeAgent) => Promise<InProcessServer>,
): Promise<Duplex> => {
  const refused = (why: string) => new Error(`dial tcp ${endpoint(address, port)}: connect: ${why}`);
  if (!agent) throw refused('no route to host');
  if (port !== String(agentPort)) throw refused('connection refused');
  return (await serverOf(agent)).connect();
};

const toPod = async ({namespace, pod, node: {agent}}: SimulatedPod, address: string, port: string): Promise<Duplex> => {
  const refused = (why: string, cause?: unknown) => new Error(`dial tcp ${endpoint(address, port)}: connect: ${why}`, {cause});
  if (!agent) throw refused('no route to host');
  const {duplexPair} = await import('#src/transport/duplex-pair.js');
  const [near, far] = duplexPair();
  try {
    await agent.listener({namespace, pod}, Number(port))(far);
  } catch (error) {
    throw refused('connection refused', error);
  }
  return near;
};

/** The code is loaded with the first request to an agent. */
const serve = async (agent: NodeAgent, {naming, clock, random, log}: SimulatedNetworkParts): Promise<InProcessServer> => {
  const [{agentHandler}, {inProcessServer}, {createHttpServer}] = await Promise.all([
    import('#src/serving/agent/handler.js'),
    import('#src/serving/agent/in-process.js'),
    import('#src/serving/http-server.js'),
  ]);
  const failed = (error: unknown) => log.error({err: error}, 'a simulated node failed to answer a request');
  return inProcessServer(
    createHttpServer(agentHandler({agent, naming, clock, outputs: new OutputBudget(), failed}), {clock, random, onFault: failed}),
  );
};
