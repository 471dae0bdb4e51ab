import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {Duplex} from 'node:stream';
import {AgentError} from '#src/api/node/agent.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {expandKnown} from '#src/model/pod/expansion.js';
import type {PodRecord} from '#src/simulation/pod/record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {PortRule} from '#src/simulation/rules/behavior.js';
import type {StreamContext} from './command.js';
import {valueIn, type ContainerTarget, type PodRecords} from './target.js';

/** How long to wait for the first bytes of a client. */
const firstByteTimeoutMs = 1_000;

const requestLine = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT) /;

const echo = (connection: Duplex): void => void connection.pipe(connection);

const reply = (connection: Duplex, text: string): void => {
  connection.resume();
  connection.end(text);
};

const serveRequests = (connection: Duplex, respond: (request: IncomingMessage, response: ServerResponse) => void): void => {
  const server = confineErrors(createServer()).on('request', (request, response) => {
    confineErrors(request);
    confineErrors(response);
    response.shouldKeepAlive = false;
    respond(request, response);
  });
  server.emit('connection', connection);
};

const serveHttp = (connection: Duplex, {status, body, type}: Extract<PortRule, {status: number}>): void =>
  serveRequests(connection, (request, response) => {
    request.resume();
    response.writeHead(status, {'content-type': type, 'content-length': Buffer.byteLength(body)});
    response.end(request.method === 'HEAD' ? undefined : body);
  });

/** Responds to each request with the name of the pod and the request itself: its line, its headers and its body. */
const echoHttp = (connection: Duplex, pod: string): void =>
  serveRequests(connection, (request, response) => {
    const {method, url, rawHeaders} = request;
    response.writeHead(200, {'content-type': 'text/plain; charset=utf-8'});
    if (method === 'HEAD') {
      request.resume();
      response.end();
      return;
    }
    const headers = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${rawHeaders[index + 1]}\n`] : []));
    response.write(`pod: ${pod}\n${method} ${url}\n${headers.join('')}\n`);
    request.pipe(response);
  });

/** Responds that nothing listens on the port, over HTTP or as plain text. */
const serveUnhandled = (connection: Duplex, text: string, {clock}: StreamContext): void => {
  const respond = () => reply(connection, text);
  const timer = clock.schedule(firstByteTimeoutMs, respond);
  connection.once('readable', () => {
    timer[Symbol.dispose]();
    const first = connection.read() as Buffer | null;
    if (!first) return respond();
    if (!requestLine.test(first.subarray(0, 16).toString('latin1'))) return respond();
    connection.unshift(first);
    serveHttp(connection, {status: 200, body: text, type: 'text/plain; charset=utf-8'});
  });
  connection.once('close', () => timer[Symbol.dispose]());
};

const serve = (
  connection: Duplex,
  rule: Exclude<PortRule, 'refuse'> | undefined,
  target: ContainerTarget,
  port: number,
  context: StreamContext,
): void => {
  const valueOf = valueIn(target, context.naming);
  connection.on('error', () => {});
  if (rule === 'echo') echo(connection);
  else if (rule === 'http-echo') echoHttp(connection, target.record.pod.metadata?.name ?? '');
  else if (rule === undefined)
    serveUnhandled(
      connection,
      `pod ${target.record.key} is simulated and nothing listens at its port ${port}: what answers is said by "ports" in a simulation rule or in the behavior annotation\n`,
      context,
    );
  else if ('reply' in rule) reply(connection, expandKnown(rule.reply, valueOf));
  else serveHttp(connection, {...rule, body: expandKnown(rule.body, valueOf)});
};

/** Returns the server at a port of a pod. Throws an agent error where connections are refused. */
export const listenerAt = (
  context: StreamContext,
  {behaviors}: Pick<PodRecords, 'behaviors'>,
  record: PodRecord,
  port: number,
): ((connection: Duplex) => void) => {
  const targets = [...specContainers(record.pod.spec!)].flatMap(of => {
    const own = record.containers.find(({name}) => name === of.container.name);
    return own?.state.is === 'running' ? [{record, of, own}] : [];
  });
  const [first] = targets;
  if (!first) throw new AgentError(500, `pod not found (${JSON.stringify(record.key.replace('/', '_'))})`);
  for (const target of targets) {
    const rule = behaviors.of(record.pod, target.of).ports?.[String(port)];
    if (rule === 'refuse') throw new AgentError(500, `dial tcp4 127.0.0.1:${port}: connect: connection refused`);
    if (rule) return connection => serve(connection, rule, target, port, context);
  }
  return connection => serve(connection, undefined, first, port, context);
};
