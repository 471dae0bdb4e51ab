import {Readable} from 'node:stream';
import {AgentRefusal, type ContainerAddress, type NodeAgent} from '#src/api/agent.js';
import type {ApiRequest, ApiResponse, Exchange} from '#src/api/exchange.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {notFoundPage, text} from '#src/serving/administration/route.js';
import {commandAnswer, wantedStreams} from './command.js';
import {logQueryOf} from './log-query.js';
import {portsAnswer} from './ports.js';

export interface AgentExchangeOptions {
  readonly agent: NodeAgent;
  readonly clock: Clock;
  /** Told of what went wrong on our side. */
  failed(error: unknown): void;
}

/** One request to an agent. */
interface Asked {
  readonly request: ApiRequest;
  /** The parts of the path behind the first one. */
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

type Answer = (options: AgentExchangeOptions, asked: Asked) => ApiResponse | Promise<ApiResponse>;

const logs: Answer = ({agent, clock}, {request, rest, query}) => {
  const [namespace = '', pod = '', container = '', ...more] = rest;
  if (more.length > 0) return notFoundPage();
  if (!namespace || !pod || !container) {
    throw new AgentRefusal(400, JSON.stringify({message: `Missing ${pod ? (container ? 'podNamespace' : 'container name') : 'podID'}.`}));
  }
  const source = agent.logs({namespace, pod, container}, logQueryOf(query, clock.now()), request.signal);
  return {status: 200, headers: {'Content-Type': 'text/plain; charset=utf-8'}, body: {kind: 'stream', source: Readable.from(source, {objectMode: false})}};
};

/** The container that a path names, which may name the pod's uid too. */
const containerIn = (rest: readonly string[]): ContainerAddress | undefined => {
  const [namespace, pod, first, second] = rest;
  const container = rest.length === 4 ? second : first;
  return namespace && pod && container && rest.length <= 4 ? {namespace, pod, container} : undefined;
};

const exec: Answer = ({agent, clock}, {request, rest, query}) => {
  const of = containerIn(rest);
  if (!of) return notFoundPage();
  const wanted = wantedStreams(query);
  return commandAnswer(request, wanted, agent.exec(of, query.getAll('command')), clock);
};

const attach: Answer = ({agent, clock}, {request, rest, query}) => {
  const of = containerIn(rest);
  if (!of) return notFoundPage();
  const wanted = wantedStreams(query);
  return commandAnswer(request, wanted, agent.attach(of), clock);
};

const portForward: Answer = ({agent, clock}, {request, rest, query}) => {
  const [namespace, pod, , ...more] = rest;
  return namespace && pod && more.length === 0 ? portsAnswer(request, query, {namespace, pod}, agent, clock) : notFoundPage();
};

const streamed = ['GET', 'POST'];

const routes: Readonly<Record<string, {readonly methods: readonly string[]; readonly answer: Answer}>> = {
  healthz: {methods: ['GET', 'HEAD'], answer: () => text('ok')},
  containerLogs: {methods: ['GET'], answer: logs},
  exec: {methods: streamed, answer: exec},
  attach: {methods: streamed, answer: attach},
  portForward: {methods: streamed, answer: portForward},
};

/** The HTTP surface of a node's agent, as API servers and tools ask it. Whoever is not to be answered must have been refused before. */
export const agentExchange =
  (options: AgentExchangeOptions): Exchange =>
  async request => {
    try {
      const [path = '', search = ''] = splitAt(request.url, '?');
      const [first = '', ...rest] = path.split('/').slice(1).map(decodeURIComponent);
      const route = Object.hasOwn(routes, first) ? routes[first]! : undefined;
      if (!route) return notFoundPage();
      if (!route.methods.includes(request.method)) return text('405: Method Not Allowed', 405);
      return await route.answer(options, {request, rest, query: new URLSearchParams(search)});
    } catch (error) {
      if (error instanceof AgentRefusal) return text(error.message, error.code);
      if (error instanceof URIError) return text('400: Bad Request', 400);
      options.failed(error);
      return text(messageOf(error), 500);
    }
  };

const splitAt = (whole: string, mark: string): string[] => {
  const at = whole.indexOf(mark);
  return at < 0 ? [whole] : [whole.slice(0, at), whole.slice(at + 1)];
};
