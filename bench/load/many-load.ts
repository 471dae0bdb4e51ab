import {readFileSync} from 'node:fs';
import https from 'node:https';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {connect, type TLSSocket} from 'node:tls';
import {seededRandom} from '#src/base/random.js';
import {schemaOf} from '#src/apiserver/request/body.js';
import {bodyWith} from '#test/sweep/bodies.js';
import {largestBody} from '#test/sweep/requests.js';
import {sweepServer} from '#test/sweep/server.js';
import {casesOf, drawnOfEach} from '#test/sweep/sweep.js';

/** The server's address, as JSON in the only argument of a load process. */
export interface ManyLoad {
  readonly directory: string;
  readonly url: string;
  /** The number of readers that read nothing. */
  readonly readers: number;
}

/** The collection that is listed. */
export const collection = '/api/v1/namespaces/many/configmaps';
const table = {accept: 'application/json;as=Table;v=v1;g=meta.k8s.io'};
const initial = '?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

/** Returns the administrator's TLS settings of a plane's directory. */
export const adminTls = (directory: string) => {
  const file = (name: string) => readFileSync(join(directory, 'pki', name), 'utf8');
  return {ca: file('ca.crt'), cert: file('admin.crt'), key: file('admin.key')};
};

/** How long each stalled reader stays, and the longest time of creates. */
const stallMs = 3000;
const createsMs = 90_000;

interface LoadClient {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer;
  /** The text at which reading stops. */
  readonly until?: string;
}

class LoadOperation {
  readonly #url: string;
  readonly #tls: ReturnType<typeof adminTls>;
  readonly #agent: https.Agent;

  constructor({directory, url}: ManyLoad) {
    this.#url = url;
    this.#tls = adminTls(directory);
    this.#agent = new https.Agent({...this.#tls, keepAlive: true});
  }

  /** Sends a request and reads the response up to that text. Returns the status. */
  ask(path: string, {method = 'GET', headers, body, until}: LoadClient = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const request = https.request(
        new URL(path, this.#url),
        {method, agent: this.#agent, headers: {accept: 'application/json', 'user-agent': 'bench', ...headers}},
        response => {
          const status = response.statusCode!;
          let last = Buffer.alloc(0);
          response.on('data', (chunk: Buffer) => {
            if (until === undefined) return;
            // Two chunks may share the text.
            const text = Buffer.concat([last, chunk]);
            last = text.subarray(-until.length);
            if (!text.includes(until)) return;
            request.destroy();
            resolve(status);
          });
          response.once('end', () => resolve(status)).once('error', reject);
        },
      );
      request.once('error', reject);
      request.end(body);
    });
  }

  /** Reads to the end. Rejects for an error response. */
  async read(path: string, asking?: LoadClient): Promise<string> {
    const status = await this.ask(path, asking);
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    return '';
  }

  /** Sends a request on its own connection and reads nothing. */
  #stalled(path: string): Promise<TLSSocket> {
    const {hostname, port} = new URL(this.#url);
    return new Promise((resolve, reject) => {
      const socket = connect({...this.#tls, host: hostname, port: Number(port)}, () => {
        socket.write(`GET ${path} HTTP/1.1\r\nhost: bench\r\nuser-agent: bench\r\naccept: application/json\r\n\r\n`);
        socket.pause();
        resolve(socket);
      });
      socket.on('error', reject);
    });
  }

  async stall(readers: number): Promise<string> {
    const sockets: TLSSocket[] = [];
    for (let i = 0; i < readers; i++) sockets.push(await this.#stalled(collection));
    await wait(stallMs);
    for (const socket of sockets) socket.on('error', () => undefined).destroy();
    return '';
  }

  /** Sends the largest body that the server accepts, with one list or map of each kind filled, one after the other. */
  async creates(): Promise<string> {
    await using shapes = await sweepServer({thread: false});
    const statuses = new Map<number, number>();
    const until = performance.now() + createsMs;
    for (const {target, collection: filled, filling} of drawnOfEach(casesOf(shapes), 1, seededRandom(1))) {
      const body = bodyWith(
        target.sample,
        schemaOf(target.served.resource.settings.schemas, target.served.kind),
        filled,
        filling,
        largestBody - 64 * 1024,
      );
      if (!body) continue;
      const bytes = Buffer.from(JSON.stringify(body));
      if (bytes.length > largestBody) continue;
      const status = await this.ask(`${target.collection}?dryRun=All`, {
        method: 'POST',
        body: bytes,
        headers: {'content-type': 'application/json'},
      });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (performance.now() > until) break;
    }
    return `answers: ${[...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ')}`;
  }
}

/** The load operations by name; each resolves to a note for the table. */
export const operations: Record<string, (load: LoadOperation, of: ManyLoad) => Promise<string>> = {
  nothing: () => wait(2000, ''),
  LIST: load => load.read(collection),
  'selector that finds none': load => load.read(`${collection}?labelSelector=app%3Dnone`),
  'the same selector again': load => load.read(`${collection}?labelSelector=app%3Dnone`),
  table: load => load.read(collection, {headers: table}),
  'table again': load => load.read(collection, {headers: table}),
  'LIST in CBOR': load => load.read(collection, {headers: {accept: 'application/cbor'}}),
  'ten LISTs at once': async load => (await Promise.all(Array.from({length: 10}, () => load.read(collection))))[0]!,
  'ten watch-lists': async load =>
    (await Promise.all(Array.from({length: 10}, () => load.read(`${collection}${initial}`, {until: 'initial-events-end'}))))[0]!,
  'readers that stall': (load, {readers}) => load.stall(readers),
  'the largest create of each kind': load => load.creates(),
};

const [, , argument] = process.argv;
if (argument && process.send) {
  const of = JSON.parse(argument) as ManyLoad;
  const load = new LoadOperation(of);
  process.once('disconnect', () => process.exit(0));
  process.on(
    'message',
    (name: string) =>
      void operations[name]!(load, of).then(
        said => process.send!({said}),
        (error: Error) => process.send!({said: `FAILED: ${error.message}`}),
      ),
  );
  process.send({said: 'ready'});
}
