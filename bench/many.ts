import {fork, type ChildProcess} from 'node:child_process';
import {readFileSync} from 'node:fs';
import https from 'node:https';
import {join} from 'node:path';
import {connect, type TLSSocket} from 'node:tls';
import {setTimeout as wait} from 'node:timers/promises';
import {fileURLToPath} from 'node:url';
import type {Figures, ManyServer} from './many-server.js';
import {scratch} from './programs.js';
import {type Row, row} from './row.js';

const bars = {holdMs: 50, beyondMb: 256};
const collection = '/api/v1/namespaces/many/configmaps';
const table = {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'};
const initial = '?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

const answerOf = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`the server ended with ${code}`));
    child.once('exit', ended).once('message', answer => {
      child.off('exit', ended);
      resolve(answer);
    });
  });

/** A server in a process of its own that holds `count` objects, and its client here. */
class Server {
  readonly #child: ChildProcess;
  readonly url: URL;
  readonly #tls: {readonly ca: string; readonly cert: string; readonly key: string};
  readonly #agent: https.Agent;

  constructor(child: ChildProcess, url: URL, directory: string) {
    const file = (name: string) => readFileSync(join(directory, 'pki', name), 'utf8');
    this.#child = child;
    this.url = url;
    this.#tls = {ca: file('ca.crt'), cert: file('admin.crt'), key: file('admin.key')};
    this.#agent = new https.Agent({...this.#tls, keepAlive: true});
  }

  static async start(count: number): Promise<Server> {
    const directory = await scratch();
    const what: ManyServer = {directory, count};
    const child = fork(fileURLToPath(new URL('many-server.js', import.meta.url)), [JSON.stringify(what)], {execArgv: ['--expose-gc'], stdio: ['ignore', 'ignore', 'inherit', 'ipc']});
    const {url} = (await answerOf(child)) as {url: string};
    return new Server(child, new URL(url), directory);
  }

  /** What the server did since the last time. */
  figures(): Promise<Figures> {
    const answer = answerOf(this.#child);
    this.#child.send('figures');
    return answer as Promise<Figures>;
  }

  /** Reads an answer to its end, or to the text at which enough was read, and tells how long it was. */
  read(path: string, headers: Record<string, string> = {}, until?: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = https.get(new URL(path, this.url), {agent: this.#agent, headers: {accept: 'application/json', 'user-agent': 'bench', ...headers}}, response => {
        if (response.statusCode !== 200) reject(new Error(`${path} answered ${response.statusCode}`));
        let length = 0;
        response.on('data', (chunk: Buffer) => {
          length += chunk.length;
          if (until === undefined || !chunk.includes(until)) return;
          request.destroy();
          resolve(length);
        });
        response.once('end', () => resolve(length)).once('error', reject);
      });
      request.once('error', reject);
    });
  }

  /** Asks over a connection of its own, and reads nothing. */
  stalled(path: string): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = connect({...this.#tls, host: this.url.hostname, port: Number(this.url.port)}, () => {
        socket.write(`GET ${path} HTTP/1.1\r\nhost: bench\r\nuser-agent: bench\r\naccept: application/json\r\n\r\n`);
        socket.pause();
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    const ended = new Promise(resolve => this.#child.once('exit', resolve));
    this.#child.disconnect();
    await ended;
  }
}

/** Does something while an informer's GET is asked again and again, and tells how long the longest of those took. */
const beside = async (server: Server, act: () => Promise<unknown>): Promise<{readonly ms: number; readonly slowestMs: number}> => {
  const running = {over: false};
  let slowestMs = 0;
  const startedAt = performance.now();
  const acted = act().finally(() => (running.over = true));
  while (!running.over) {
    const askedAt = performance.now();
    await server.read(`${collection}/item-1`);
    slowestMs = Math.max(slowestMs, performance.now() - askedAt);
    await wait(5);
  }
  await acted;
  return {ms: performance.now() - startedAt, slowestMs};
};

const measured = async (server: Server, name: string, act: () => Promise<unknown>): Promise<Row[]> => {
  await server.figures();
  const {ms, slowestMs} = await beside(server, act);
  const {hold, cpuMs, beganMb, mostMb} = await server.figures();
  const within = (holds: boolean): string => (holds ? 'within' : 'BEYOND');
  const note = `${within(hold.ms <= bars.holdMs)} ${bars.holdMs} ms, in ${hold.look}; took ${Math.round(ms)} ms, ${Math.round(cpuMs)} of CPU; slowest GET beside it ${Math.round(slowestMs)} ms`;
  return [
    row(`longest hold: ${name}`, hold.ms, 'ms', {note}),
    row('  memory beyond what is stored', mostMb - beganMb, 'MB', {note: `${within(mostMb - beganMb <= bars.beyondMb)} ${bars.beyondMb} MB`}),
  ];
};

const stalledReaders = async (server: Server, readers: number, path: string): Promise<void> => {
  const sockets: TLSSocket[] = [];
  for (let i = 0; i < readers; i++) sockets.push(await server.stalled(path));
  await wait(3000);
  for (const socket of sockets) socket.on('error', () => undefined).destroy();
};

const count = 100_000;

/** What large collections take: the longest time that the server's loop is held, memory, and what an informer waits meanwhile. */
export const manyRows = async (): Promise<Row[]> => {
  const rows: Row[] = [];
  const server = await Server.start(count);
  const none = () => server.read(`${collection}?labelSelector=app%3Dnone`);
  for (const [name, act] of [
    ['LIST', () => server.read(collection)],
    ['selector that finds none', none],
    ['the same selector again', none],
    ['table', () => server.read(collection, table)],
    ['table again', () => server.read(collection, table)],
    ['LIST in CBOR', () => server.read(collection, {accept: 'application/cbor'})],
    ['ten watch-lists', () => Promise.all(Array.from({length: 10}, () => server.read(`${collection}${initial}`, {}, 'initial-events-end')))],
    ['400 readers that stall', () => stalledReaders(server, 400, collection)],
  ] as const) {
    rows.push(...(await measured(server, `${name}, ${count.toLocaleString('en-US')} objects`, act)));
  }
  await server.stop();
  return rows;
};
