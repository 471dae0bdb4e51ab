// The ports of an agent: the one with TLS, the one that is only read, and the one for health checks.

import type {SecureContextOptions, TlsOptions} from 'node:tls';
import type {NodeAgent} from '#src/api/node/agent.js';
import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import type {AgentGuard} from '#src/serving/agent/guard.js';
import {guarded} from '#src/serving/agent/guard.js';
import {agentHandler} from '#src/serving/agent/handler.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen, type Listener} from '#src/serving/listener.js';
import {listenPlain} from '#src/serving/plain-listener.js';
import type {Settings} from '#src/platlet/config/fields.js';

export interface AgentPortsParts extends Pick<AgentGuard, 'authenticators' | 'anonymous' | 'authorizer'> {
  readonly agent: NodeAgent;
  readonly nodeName: string;
  readonly settings: Pick<
    Settings,
    'address' | 'port' | 'readOnlyPort' | 'enableServer' | 'enableDebuggingHandlers' | 'healthzBindAddress' | 'healthzPort'
  >;
  readonly tls: TlsOptions;
  readonly debugging: readonly AdministrativeRoute[];
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The open ports of an agent. */
export interface AgentPorts extends AsyncDisposable {
  /** The port with TLS; the configured one if it is not open. */
  readonly port: number;
  setSecureContext(options: SecureContextOptions): void;
}

const maxHeaderBytes = 1 << 20;
const idleMs = 90_000;
const maxConnections = 500;
/** How long to wait before the port for health checks is tried again. */
const retryMs = 5_000;

/** Opens the ports. Rejects with an error of one line if one of the first two is not available; the one for health checks is tried again. */
export const openAgentPorts = async (parts: AgentPortsParts): Promise<AgentPorts> => {
  const {agent, nodeName, settings, tls, debugging, naming, clock, random, log, authenticators, anonymous, authorizer} = parts;
  const failed = (error: unknown): void => log.error({err: error}, 'a request could not be answered');
  const common = {agent, naming, clock, outputs: new OutputBudget(), failed};
  await using undo = new Undo();
  let listener: Listener | undefined;
  if (settings.enableServer) {
    const handler = agentHandler({...common, debugging, isReadOnly: !settings.enableDebuggingHandlers});
    const guard = guarded({node: nodeName, authenticators, ...(anonymous ? {anonymous} : {}), authorizer, failed}, handler);
    listener = await listen({
      flags: '--address and --port',
      clock,
      bindAddress: settings.address,
      port: settings.port,
      tls,
      handler: createHttpServer(guard, {clock, random, onFault: failed}),
      maxConnections,
      maxHeaderBytes,
      idleTimeoutMs: idleMs,
    });
    const opened = listener;
    undo.defer(() => opened.close({graceMs: 0}));
    if (settings.readOnlyPort) {
      const open = createHttpServer(agentHandler({...common, isReadOnly: true}), {clock, random, onFault: failed});
      const plain = await listenPlain({
        bindAddress: settings.address,
        port: settings.readOnlyPort,
        handler: open,
        flags: '--address and --read-only-port',
      });
      undo.defer(() => plain.close());
    }
  }
  if (settings.healthzPort) undo.defer(followHealthPort(parts, failed));
  const cleanup = undo.move();
  return {
    port: listener?.port ?? settings.port,
    setSecureContext: options => listener?.setSecureContext(options),
    [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose](),
  };
};

/** Opens the port for health checks as soon as it is free. Returns what closes it. */
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
