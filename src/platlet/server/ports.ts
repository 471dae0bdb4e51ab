// The ports of an agent: the main one with TLS, the read-only one, and the one of health checks.

import type {SecureContextOptions, TlsOptions} from 'node:tls';
import type {NodeAgent} from '#src/api/node/agent.js';
import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {GateName} from '#src/options/gate-table.js';
import {text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import type {AgentGuard} from '#src/serving/agent/guard.js';
import {guarded} from '#src/serving/agent/guard.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {measured, type RequestMetrics} from '#src/serving/agent/measured.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {slisRoute} from '#src/serving/administration/metrics.js';
import {HealthChecks} from '#src/observe/health.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer, type HttpServerOptions} from '#src/serving/http-server.js';
import {listen, type Listener} from '#src/serving/listener.js';
import {limitedByPeer} from '#src/serving/limits/peer-limit.js';
import {listenPlain} from '#src/serving/plain-listener.js';
import type {Settings} from '#src/platlet/config/fields.js';

export interface AgentPortsParts extends Pick<AgentGuard, 'authenticators' | 'anonymous' | 'authorizer'> {
  readonly agent: NodeAgent;
  readonly nodeName: string;
  readonly settings: Pick<
    Settings,
    | 'address'
    | 'port'
    | 'readOnlyPort'
    | 'enableServer'
    | 'enableDebuggingHandlers'
    | 'healthzBindAddress'
    | 'healthzPort'
    | 'streamingConnectionIdleTimeout'
  >;
  readonly tls: TlsOptions;
  /** Additional paths that are always served, and debugging paths. */
  readonly routes: readonly AdministrativeRoute[];
  readonly debugging: readonly AdministrativeRoute[];
  readonly metrics: RequestMetrics;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  gate(name: GateName): boolean;
}

/** The open ports of an agent. */
export interface AgentPorts extends AsyncDisposable {
  /** The port number of the server with TLS; the configured one if it is not listening. */
  readonly port: number;
  setSecureContext(options: SecureContextOptions): void;
}

const maxHeaderBytes = 1 << 20;
const idleMs = 90_000;
const maxConnections = 500;
/** The maximum size of all responses that clients have not read, of all ports together. */
const waitingBytes = 128 << 20;
/**
 * The maximum number of requests of one address that wait for token or access reviews. The API server proxies requests
 * of all its users.
 */
const maxWaitingOfPeer = 500;
/** The delay before the port of health checks is tried again. */
const retryMs = 5_000;

/**
 * Opens the ports. Rejects with a one-line error if one of the first two is not available; the one of health checks is
 * retried.
 */
export const openAgentPorts = async (parts: AgentPortsParts): Promise<AgentPorts> => {
  const {agent, settings, routes, naming, clock, random, log} = parts;
  const failed = (error: unknown): void => log.error({err: error}, 'failed to answer a request');
  const sending = {clock, random, deliveries: new Deliveries(clock, waitingBytes), onFault: failed};
  const checks = checksOf(agent, log);
  const own = [...healthRoutes({healthz: checks}), slisRoute(naming, [checks], {resets: true}), ...routes];
  const answering = {agent, naming, clock, outputs: new OutputBudget(), routes: own, failed};
  await using undo = new Undo();
  const listener = settings.enableServer ? await openSecure(parts, answering, sending) : undefined;
  if (listener) undo.defer(() => listener.close({graceMs: 0}));
  if (listener && settings.readOnlyPort) {
    const plain = await openReadOnly(parts, answering, sending);
    undo.defer(() => plain.close());
  }
  if (settings.healthzPort) undo.defer(followHealthPort(parts, failed));
  const cleanup = undo.move();
  return {
    port: listener?.port ?? settings.port,
    setSecureContext: options => listener?.setSecureContext(options),
    [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose](),
  };
};

/** What the handlers of both ports work with. */
type Answering = Omit<Parameters<typeof agentHandler>[0], 'isReadOnly'>;

/** Opens the port that everybody has to prove to be let in to. */
const openSecure = (parts: AgentPortsParts, answering: Answering, sending: HttpServerOptions): Promise<Listener> => {
  const {nodeName, settings, tls, debugging, metrics, clock, authenticators, anonymous, authorizer, gate} = parts;
  const {enableDebuggingHandlers: debugs, streamingConnectionIdleTimeout: idleTimeoutMs} = settings;
  const handler = agentHandler({
    ...answering,
    debugging: debugs ? debugging : [],
    idleTimeoutMs,
    isReadOnly: !debugs,
    splitsOutputs: gate('PodLogsQuerySplitStreams'),
  });
  const isFineGrained = gate('PlatletFineGrainedAuthz');
  const guard = guarded({node: nodeName, authenticators, anonymous, authorizer, failed: answering.failed, isFineGrained}, handler);
  return listen({
    flags: '--address and --port',
    clock,
    bindAddress: settings.address,
    port: settings.port,
    tls,
    handler: createHttpServer(limitedByPeer(measured(guard, metrics, clock, 'readwrite'), maxWaitingOfPeer), sending),
    maxConnections,
    maxHeaderBytes,
    idleTimeoutMs: idleMs,
  });
};

/** Opens the port that shows without question what may be read. */
const openReadOnly = ({settings, metrics, clock}: AgentPortsParts, answering: Answering, sending: HttpServerOptions) =>
  listenPlain({
    bindAddress: settings.address,
    port: settings.readOnlyPort,
    handler: createHttpServer(measured(agentHandler({...answering, isReadOnly: true}), metrics, clock, 'readonly'), sending),
    flags: '--address and --read-only-port',
  });

/** The checks of `/healthz`. */
const checksOf = (agent: NodeAgent, log: Log): HealthChecks => {
  const checks = new HealthChecks(log);
  checks.add('ping', () => {});
  checks.add('log', () => {});
  checks.add('syncloop', () => {
    const problem = agent.healthProblem?.();
    if (problem !== undefined) throw new Error(problem);
  });
  return checks;
};

/** Opens the port of health checks as soon as it is available. Returns a function that closes it. */
const followHealthPort = (
  {agent, settings, clock, random, log, signal}: AgentPortsParts,
  failed: (error: unknown) => void,
): (() => Promise<void>) => {
  const stopping = new AbortController();
  const handler = createHttpServer(
    async ({url}) => {
      if (url.split('?', 1)[0] !== '/healthz') return text('404 page not found\n', 404);
      const problem = agent.healthProblem?.();
      return problem === undefined ? text('ok') : text(`internal server error: ${problem}\n`, 500);
    },
    {clock, random, onFault: failed},
  );
  const opened = (async () => {
    while (!stopping.signal.aborted && !signal.aborted) {
      try {
        return await listenPlain({
          bindAddress: settings.healthzBindAddress,
          port: settings.healthzPort,
          handler,
          flags: '--healthz-bind-address and --healthz-port',
        });
      } catch (error) {
        log.error({err: error}, 'failed to start healthz server');
      }
      await sleep(clock, retryMs, stopping.signal).catch(() => {});
    }
    return undefined;
  })();
  return async () => {
    stopping.abort();
    await (await opened)?.close();
  };
};
