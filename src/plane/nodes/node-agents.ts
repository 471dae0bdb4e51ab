import type {SecureContextOptions, TlsOptions} from 'node:tls';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {NodeAgent} from '#src/api/node/agent.js';
import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {guarded} from '#src/serving/agent/guard.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {text} from '#src/serving/administration/route.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen, type Listener, type RequestHandler} from '#src/serving/listener.js';

export interface NodeAgentsParts {
  readonly names: readonly string[];
  readonly bindAddress: string;
  /** The port of the first agent, followed by those of the others; 0 selects free ones. */
  readonly firstPort: number;
  readonly tls: TlsOptions;
  /** The most connections of one agent, 500 by default; above it those without a request are closed first. */
  readonly maxConnections?: number;
  readonly authenticators: readonly Authenticator[];
  readonly authorizer: Authorizer;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The agent of a node; undefined while the node is off or does not exist. */
  agentOf(name: string): NodeAgent | undefined;
}

/** The HTTPS ports of the node agents, one per node. */
export interface NodeAgents extends AsyncDisposable {
  /** In the order of the names. */
  readonly ports: readonly number[];
  setSecureContext(options: SecureContextOptions): void;
}

/** The connections of the API server and of monitoring are few. */
const usualMaxConnections = 500;
/** The most bytes of the headers of a request, which contain the arguments of a command. */
const maxHeaderBytes = 128 << 10;

/** The most bytes of all answers of all agents that are not read. */
const waitingBytes = 128 << 20;

/** What all agents of a process share. */
interface Shared {
  readonly deliveries: Deliveries;
  readonly outputs: OutputBudget;
}

/** Opens a port for each node. Rejects with an error of one line when one is not available; then none stays open. */
export const openNodeAgents = async (parts: NodeAgentsParts): Promise<NodeAgents> => {
  const {names, bindAddress, firstPort, tls, maxConnections = usualMaxConnections, clock} = parts;
  const shared: Shared = {deliveries: new Deliveries(clock, waitingBytes), outputs: new OutputBudget()};
  const listeners: Listener[] = [];
  const close = () => Promise.all(listeners.map(listener => listener.close({graceMs: 0})));
  await using undo = new Undo();
  undo.defer(close);
  for (const [index, name] of names.entries()) {
    const handler = unlessOff(handlerOf(name, parts, shared), () => parts.agentOf(name) !== undefined);
    const port = firstPort && firstPort + index;
    listeners.push(await listen({clock, bindAddress, port, tls, handler, maxConnections, maxHeaderBytes}));
  }
  undo.move();
  return {
    ports: listeners.map(({port}) => port),
    setSecureContext(options) {
      for (const listener of listeners) listener.setSecureContext(options);
    },
    async [Symbol.asyncDispose]() {
      await close();
    },
  };
};

const handlerOf = (
  node: string,
  {agentOf, authenticators, authorizer, naming, clock, random, log}: NodeAgentsParts,
  {deliveries, outputs}: Shared,
): RequestHandler => {
  const failed = (error: unknown) => log.error({node, err: error}, 'a simulated node failed to answer a request');
  const handlers = new WeakMap<NodeAgent, ApiHandler>();
  const handler: ApiHandler = async request => {
    const agent = agentOf(node);
    if (!agent) return text('the node is off\n', 503);
    let known = handlers.get(agent);
    if (!known) handlers.set(agent, (known = agentHandler({agent, naming, clock, outputs, failed})));
    return known(request);
  };
  const guard = guarded({node, authenticators, authorizer, failed}, handler);
  return createHttpServer(guard, {clock, random, deliveries, onFault: failed});
};

/** A node that is off does not respond: its connections are closed. */
const unlessOff = (handler: RequestHandler, isOn: () => boolean): RequestHandler => ({
  http1: (request, response) => (isOn() ? handler.http1(request, response) : request.socket.destroy()),
  upgrade: (request, socket, head) => (isOn() ? handler.upgrade(request, socket, head) : socket.destroy()),
  http2: (stream, headers, flags, raw) => (isOn() ? handler.http2(stream, headers, flags, raw) : stream.session?.destroy()),
  fault: error => handler.fault(error),
});
