// The HTTP API of a node's agent, as the API server and monitoring use it: logs, commands, ports, metrics, summaries.
// Requests are authorized before, by guard.ts or by the in-process caller.

import {Readable} from 'node:stream';
import {AgentError, type ContainerAddress, type NodeAgent} from '#src/api/node/agent.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {ApiRequest, ApiResponse, ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {jsonText, notFoundPage, text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import {commandResponse, requestedStreams} from './command.js';
import {containerMetrics} from './container-metrics.js';
import {exposition} from './exposition.js';
import type {StreamLimits} from './idle.js';
import {logQueryOf} from './log-query.js';
import {agentMetrics, measuredProbes, probeMetrics, resourceMetrics} from './metrics.js';
import type {OutputBudget} from './output-budget.js';
import {portsResponse} from './ports.js';
import {queryOf} from './request-query.js';
import {runResponse} from './run.js';
import {summaryOf} from './summary.js';

export interface AgentHandlerOptions {
  readonly agent: NodeAgent;
  readonly naming: Naming;
  readonly clock: Clock;
  /** Limits what commands of `/run` write, shared with other agents. */
  readonly outputs: OutputBudget;
  /** Whether only measurements and pods are served, and nothing for debugging. */
  readonly isReadOnly?: boolean;
  /** Further paths, which are served in any case. */
  readonly routes?: readonly AdministrativeRoute[];
  /** Further paths for debugging. */
  readonly debugging?: readonly AdministrativeRoute[];
  /** How long a stream to a container may be without bytes; not limited if absent or 0. */
  readonly idleTimeoutMs?: number;
  /** Whether one of the two outputs of a container may be asked for, as it may by default. */
  readonly splitsOutputs?: boolean;
  /** Called for failures of this server. */
  failed(error: unknown): void;
}

/** A request to an agent. */
interface AgentRequest {
  readonly request: ApiRequest;
  /** The segments of the path after the first one. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

type AgentRouteHandler = (options: AgentHandlerOptions, request: AgentRequest) => ApiResponse | Promise<ApiResponse>;

const logs: AgentRouteHandler = async ({agent, clock, naming, splitsOutputs = true}, {request, rest, query}) => {
  const [namespace = '', pod = '', container = '', ...more] = rest;
  if (more.length > 0) return notFoundPage();
  if (!namespace || !pod || !container) {
    throw new AgentError(400, JSON.stringify({message: `Missing ${pod ? (container ? 'podNamespace' : 'container name') : 'podID'}.`}));
  }
  const wanted = logQueryOf(query, clock.now());
  if (!splitsOutputs && wanted.stream !== 'All') {
    const stream = JSON.stringify(wanted.stream);
    throw new AgentError(
      400,
      `unable to return the given log stream: ${stream}. Please enable PodLogsQuerySplitStreams feature gate in ${naming.agent}`,
    );
  }
  const source = await agent.logs({namespace, pod, container}, wanted, request.signal);
  return {
    status: 200,
    headers: {'Content-Type': 'text/plain; charset=utf-8'},
    body: {kind: 'stream', source: Readable.from(source, {objectMode: false})},
  };
};

/** The container that a path addresses, optionally with the pod's uid. */
const containerIn = (rest: readonly string[]): ContainerAddress | undefined => {
  const [namespace, pod, first, second] = rest;
  const [uid, container] = rest.length === 4 ? [first, second] : ['', first];
  return namespace && pod && container && rest.length <= 4 ? {namespace, pod, container, ...(uid ? {uid} : {})} : undefined;
};

const limitsOf = ({clock, idleTimeoutMs = 0}: AgentHandlerOptions): StreamLimits => ({clock, idleMs: idleTimeoutMs});

const exec: AgentRouteHandler = async (options, {request, rest, query}) => {
  const of = containerIn(rest);
  if (!of) return notFoundPage();
  const wanted = requestedStreams(query);
  return commandResponse(request, wanted, await options.agent.exec(of, query.getAll('command')), limitsOf(options));
};

const attach: AgentRouteHandler = async (options, {request, rest, query}) => {
  const of = containerIn(rest);
  if (!of) return notFoundPage();
  const wanted = requestedStreams(query);
  return commandResponse(request, wanted, await options.agent.attach(of), limitsOf(options));
};

const portForward: AgentRouteHandler = (options, {request, rest, query}) => {
  const [namespace, pod, uid, ...more] = rest;
  if (!namespace || !pod || more.length > 0) return notFoundPage();
  return portsResponse(request, query, {namespace, pod, ...(uid ? {uid} : {})}, options.agent, limitsOf(options));
};

/** Writes a container into an archive on the node, for agents that can. */
const checkpoint: AgentRouteHandler = async ({agent}, {rest, query}) => {
  const [namespace, pod, container, ...more] = rest;
  if (!agent.checkpoint || !namespace || !pod || !container || more.length > 0) return notFoundPage();
  const location = await agent.checkpoint({namespace, pod, container}, query.getAll('timeout').at(-1));
  return text(JSON.stringify({items: [location]}), 200, 'application/json');
};

const run: AgentRouteHandler = ({agent, outputs}, {request, rest, query}) => {
  const of = containerIn(rest);
  return of ? runResponse({agent, of, cmd: query.get('cmd') ?? '', signal: request.signal, outputs}) : notFoundPage();
};

const podList = ({naming}: AgentHandlerOptions, items: readonly Frozen<Pod>[]): ApiResponse =>
  jsonText({kind: 'PodList', apiVersion: naming.apiVersion('', 'v1'), metadata: {}, items});

/** The pods with running containers. */
const runningPods = async ({agent}: AgentHandlerOptions): Promise<readonly Frozen<Pod>[]> => {
  if (agent.runningPods) return agent.runningPods();
  const running = new Set((await agent.stats()).pods.map(({uid}) => uid));
  return agent.pods().filter(({metadata}) => running.has(metadata?.uid ?? ''));
};

const metrics: AgentRouteHandler = async ({agent, naming}, {rest: [which = '', ...more]}) => {
  if (more.length > 0) return notFoundPage();
  switch (which) {
    case '':
      return exposition(agentMetrics(await agent.stats(), naming));
    case 'resource':
      return exposition(resourceMetrics(await agent.stats()));
    case 'cadvisor':
      return exposition(containerMetrics(await agent.stats()));
    case 'probes':
      return exposition(probeMetrics(agent.probes?.() ?? measuredProbes(await agent.stats())));
    default:
      return notFoundPage();
  }
};

const stats: AgentRouteHandler = async ({agent}, {rest, query}) =>
  rest.length === 1 && rest[0] === 'summary'
    ? jsonText(summaryOf(await agent.stats(), {onlyCpuAndMemory: ['1', 'true'].includes(query.get('only_cpu_and_memory') ?? '')}))
    : notFoundPage();

const reading = ['GET', 'HEAD'];
const streamed = ['GET', 'POST'];

const routes: Readonly<Record<string, {readonly methods: readonly string[]; readonly answer: AgentRouteHandler}>> = {
  healthz: {
    methods: reading,
    answer: ({agent}, {rest: [check = '', ...more]}) => {
      if (more.length > 0 || !['', 'ping', 'log', 'syncloop'].includes(check)) return notFoundPage();
      const problem = ['', 'syncloop'].includes(check) ? agent.healthProblem?.() : undefined;
      return problem === undefined ? text('ok') : text(`internal server error: ${problem}\n`, 500);
    },
  },
  pods: {methods: reading, answer: (options, {rest}) => (rest.join('') === '' ? podList(options, options.agent.pods()) : notFoundPage())},
  runningpods: {
    methods: reading,
    answer: async (options, {rest}) => (rest.join('') === '' ? podList(options, await runningPods(options)) : notFoundPage()),
  },
  metrics: {methods: reading, answer: metrics},
  stats: {methods: streamed, answer: stats},
  configz: {methods: reading, answer: ({agent, naming}) => jsonText({[`${naming.agent}config`]: agent.configuration()})},
  run: {methods: ['POST'], answer: run},
  containerLogs: {methods: ['GET'], answer: logs},
  exec: {methods: streamed, answer: exec},
  attach: {methods: streamed, answer: attach},
  portForward: {methods: streamed, answer: portForward},
  checkpoint: {methods: ['POST'], answer: checkpoint},
};

/** The paths that serve for debugging, by their first segments. */
const debugged: ReadonlySet<string> = new Set([
  'run',
  'exec',
  'attach',
  'portForward',
  'containerLogs',
  'configz',
  'runningpods',
  'checkpoint',
  'logs',
  'debug',
]);

/** Returns the route of an agent's own for a path, if there is one. */
const ownRoute = ({routes: always = [], debugging = []}: AgentHandlerOptions, path: string): AdministrativeRoute | undefined =>
  [...always, ...debugging].find(route => (route.path.endsWith('/*') ? path.startsWith(route.path.slice(0, -1)) : path === route.path));

/** The longest URL, which may have the arguments of a command. To parse a longer one would hold up other requests. */
const maxUrlLength = 128 << 10;

/** The HTTP API of a node's agent. Callers must authorize requests before. */
export const agentHandler =
  (options: AgentHandlerOptions): ApiHandler =>
  async request => {
    if (request.url.length > maxUrlLength) return text('414: URI Too Long', 414);
    try {
      const [path = '', search = ''] = splitAt(request.url, '?');
      const [first = '', ...rest] = path.split('/').slice(1).map(decodeURIComponent);
      if (options.isReadOnly && debugged.has(first)) return text('Debug endpoints are disabled.\n', 405);
      const own = ownRoute(options, path);
      if (own) return await own.answer({method: request.method, path, query: queryOf(search), request});
      const route = Object.hasOwn(routes, first) ? routes[first]! : undefined;
      if (!route) return notFoundPage();
      if (!route.methods.includes(request.method)) return text('405: Method Not Allowed', 405);
      return await route.answer(options, {request, rest, query: queryOf(search)});
    } catch (error) {
      if (error instanceof AgentError) return text(error.message, error.code);
      if (error instanceof URIError) return text('400: Bad Request', 400);
      options.failed(error);
      return text(messageOf(error), 500);
    }
  };

const splitAt = (whole: string, mark: string): string[] => {
  const at = whole.indexOf(mark);
  return at < 0 ? [whole] : [whole.slice(0, at), whole.slice(at + 1)];
};
