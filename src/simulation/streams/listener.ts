import {createServer} from 'node:http';
import type {Duplex} from 'node:stream';
import {AgentError} from '#src/api/agent.js';
import {filled} from '#src/simulation/pod/environment.js';
import {specContainers, type PodRecord} from '#src/simulation/pod/record.js';
import type {PortRule} from '#src/simulation/rules/behavior.js';
import type {StreamWorld} from './command.js';
import {valueIn, type Place, type PodsKept} from './place.js';

/** How long a caller who says nothing waits for a word. */
const silenceMs = 1_000;

const request = /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE|CONNECT) /;

const echo = (connection: Duplex): void => void connection.pipe(connection);

const reply = (connection: Duplex, text: string): void => {
  connection.resume();
  connection.end(text);
};

const serveHttp = (connection: Duplex, {status, body, type}: Extract<PortRule, {status: number}>): void => {
  const server = createServer((asked, answer) => {
    asked.resume();
    answer.shouldKeepAlive = false;
    answer.writeHead(status, {'content-type': type, 'content-length': Buffer.byteLength(body)});
    answer.end(asked.method === 'HEAD' ? undefined : body);
  });
  server.emit('connection', connection);
};

/** Says to whoever comes that nobody is here, in the way he asks. */
const serveNobody = (connection: Duplex, text: string, {clock}: StreamWorld): void => {
  const say = () => reply(connection, text);
  const timer = clock.schedule(silenceMs, say);
  connection.once('readable', () => {
    timer[Symbol.dispose]();
    const first = connection.read() as Buffer | null;
    if (!first) return say();
    if (!request.test(first.subarray(0, 16).toString('latin1'))) return say();
    connection.unshift(first);
    serveHttp(connection, {status: 200, body: text, type: 'text/plain; charset=utf-8'});
  });
  connection.once('close', () => timer[Symbol.dispose]());
};

const serve = (connection: Duplex, rule: Exclude<PortRule, 'refuse'> | undefined, place: Place, port: number, world: StreamWorld): void => {
  const valueOf = valueIn(place, world.naming);
  connection.on('error', () => {});
  if (rule === 'echo') echo(connection);
  else if (rule === undefined) serveNobody(connection, `pod ${place.record.key} is simulated and nothing listens at its port ${port}: what answers is said by "ports" in a simulation rule or in the behavior annotation\n`, world);
  else if ('reply' in rule) reply(connection, filled(rule.reply, valueOf));
  else serveHttp(connection, {...rule, body: filled(rule.body, valueOf)});
};

/** Who listens at a port of a pod. Throws a refusal where nobody does. */
export const listenerAt = (world: StreamWorld, {behaviors}: Pick<PodsKept, 'behaviors'>, record: PodRecord, port: number): ((connection: Duplex) => void) => {
  const places = [...specContainers(record.pod.spec!)].flatMap(of => {
    const own = record.containers.find(({name}) => name === of.container.name);
    return own?.state.is === 'running' ? [{record, of, own}] : [];
  });
  const [first] = places;
  if (!first) throw new AgentError(500, `pod not found (${JSON.stringify(record.key.replace('/', '_'))})`);
  for (const place of places) {
    const rule = behaviors.of(record.pod, place.of).ports?.[String(port)];
    if (rule === 'refuse') throw new AgentError(500, `dial tcp4 127.0.0.1:${port}: connect: connection refused`);
    if (rule) return connection => serve(connection, rule, place, port, world);
  }
  return connection => serve(connection, undefined, first, port, world);
};
