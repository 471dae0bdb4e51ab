// The HTTP API of an agent whose pods run in memory, without ports.

import {text} from 'node:stream/consumers';
import type {ApiResponse} from '#src/api/request.js';
import {noLog} from '#src/base/log.js';
import {systemFiles} from '#src/base/files/files.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {agentMetrics, type AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {observeAgent, type ClaimUsage} from '#src/platlet/metrics/observed.js';
import {nodeAgent} from '#src/platlet/server/node-agent.js';
import {metricsRoute} from '#src/serving/administration/metrics.js';
import {agentHandler, type AgentHandlerOptions} from '#src/serving/agent/handler.js';
import {measured} from '#src/serving/agent/measured.js';
import {OutputBudget} from '#src/serving/agent/output-budget.js';
import {anAgent, nodeName, type AgentPlane, type TestAgentOptions} from '#test/platlet/agent.js';
import type {MemoryRuntime} from '#test/platlet/memory-runtime.js';

export interface ServedAgent extends AsyncDisposable {
  readonly metrics: AgentMetrics;
  readonly registry: MetricsRegistry;
  raw(url: string, method?: string, headers?: Readonly<Record<string, string>>): Promise<ApiResponse>;
  /** Returns the status and the body of an answer. */
  ask(url: string, method?: string): Promise<string>;
}

type Options = TestAgentOptions &
  Partial<Pick<AgentHandlerOptions, 'isReadOnly' | 'debugging' | 'splitsOutputs'>> & {readonly claims?: readonly ClaimUsage[]};

/** Starts an agent on a plane and serves it. */
export const servedAgent = async (plane: AgentPlane, runtime: MemoryRuntime, options: Options = {}): Promise<ServedAgent> => {
  const {naming, clock} = plane;
  const registry = new MetricsRegistry();
  const metrics = agentMetrics(registry, naming);
  const agent = await anAgent(plane, runtime, {...options, metrics});
  const {pods} = agent;
  observeAgent(registry, {
    naming,
    nodeName,
    cgroupVersion: 2,
    pods: pods.directory,
    claims: () => options.claims ?? [],
  });
  const handler = agentHandler({
    agent: nodeAgent({
      runtime,
      clock,
      log: noLog,
      files: systemFiles,
      open: () => Promise.resolve(undefined),
      pods: () => pods.directory.shown,
      stats: () => Promise.reject(new Error('not measured')),
      probes: () => pods.prober.counts,
      configuration: () => ({port: 1}),
      healthProblem: () => undefined,
      checkpoints: '/checkpoints',
      zoneMinutes: () => 330,
    }),
    naming,
    clock,
    outputs: new OutputBudget(),
    routes: [metricsRoute(registry, {resets: false})],
    failed: () => {},
    ...options,
  });
  const counted = measured(handler, metrics, clock, 'readwrite');
  const raw: ServedAgent['raw'] = (url, method = 'GET', headers = {}) =>
    counted({method, url, headers, caller: {user: {name: 'u', groups: []}}, remoteAddress: '', signal: new AbortController().signal});
  return {
    metrics,
    registry,
    raw,
    async ask(url, method) {
      const {status, body} = await raw(url, method);
      return `${status} ${body.kind === 'stream' ? await text(body.source) : body.kind === 'bytes' ? String(body.bytes) : ''}`;
    },
    [Symbol.asyncDispose]: () => agent[Symbol.asyncDispose](),
  };
};
