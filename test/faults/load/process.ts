// The process of the clients: it runs as a child of the rounds, writes its history to a file, and sends a count of what
// it recorded twice a second. The message `stop` ends the clients, writes a last object of each colour, and waits until
// every watcher has seen both.

import {createWriteStream} from 'node:fs';
import {setTimeout as wait} from 'node:timers/promises';
import {microseconds, type HistoryRecord} from '#test/faults/history/records.js';
import {Client} from './client.js';
import {Connection, type Servers} from './http.js';
import {collection, colors, configMapOf, itemOf, type ConfigMap} from './objects.js';
import {WatcherClient} from './watcher.js';

/** The only argument of the process, as JSON. */
export interface LoadOptions {
  readonly name: string;
  readonly seed: number;
  readonly servers: Servers;
  readonly clients: number;
  readonly watchers: number;
  readonly keys: number;
  readonly file: string;
}

/** What the process sends. */
export interface Progress {
  readonly operations: number;
  readonly unknown: number;
  readonly events: number;
  readonly isReady?: boolean;
  readonly isDone?: boolean;
}

/** How long the watchers may take to see the last objects, when all faults are over. */
const patienceMs = 60_000;

class Load {
  readonly #options: LoadOptions;
  readonly #file;
  readonly #counts = {operations: 0, unknown: 0, events: 0};
  readonly #clientsEnd = new AbortController();
  readonly #watchersEnd = new AbortController();
  readonly #watchers: readonly WatcherClient[];
  #clientsDone: Promise<unknown> = Promise.resolve();
  #watchersDone: Promise<unknown> = Promise.resolve();

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#file = createWriteStream(options.file, {flags: 'a'});
    const {name, seed, servers} = options;
    this.#watchers = Array.from(
      {length: options.watchers},
      (_, index) =>
        new WatcherClient({
          name: `${name}-w${index}`,
          seed: seed * 1000 + 500 + index,
          color: index % 4 === 3 ? colors[0] : undefined,
          servers,
          record: this.#record,
        }),
    );
  }

  readonly #record = (record: HistoryRecord): void => {
    if (record.type === 'operation') this.#counts.operations++;
    if (record.type === 'operation' && record.outcome === 'unknown') this.#counts.unknown++;
    if (record.type === 'watch' && record.what === 'event') this.#counts.events++;
    this.#file.write(`${JSON.stringify(record)}\n`);
  };

  get progress(): Progress {
    return {...this.#counts};
  }

  /** Resolves once all watchers have begun; the clients begin with `work`. */
  async begin(): Promise<void> {
    await Promise.all(
      this.#watchers.map(watcher => {
        const {promise, resolve} = withResolvers();
        const done = watcher.run(this.#watchersEnd.signal, resolve);
        this.#watchersDone = Promise.all([this.#watchersDone, done]);
        return promise;
      }),
    );
  }

  work(): void {
    const {name, seed, servers, keys, clients} = this.#options;
    this.#clientsDone = Promise.all(
      Array.from({length: clients}, (_, index) =>
        new Client({name: `${name}-c${index}`, seed: seed * 1000 + index, keys, servers, record: this.#record}).run(
          this.#clientsEnd.signal,
        ),
      ),
    );
  }

  async end(): Promise<void> {
    this.#clientsEnd.abort();
    await this.#clientsDone;
    const last = await this.#writeLast();
    const until = microseconds() + patienceMs * 1000;
    const behind = () => this.#watchers.filter(({reached}) => reached === undefined || reached < last);
    while (behind().length > 0 && microseconds() < until) await wait(20);
    for (const watcher of behind())
      this.#record({
        type: 'problem',
        at: microseconds(),
        text: `a watcher reached ${watcher.reached}, not ${last}, within ${patienceMs / 1000} s`,
      });
    this.#watchersEnd.abort();
    await this.#watchersDone;
    await new Promise<void>(resolve => this.#file.end(resolve));
  }

  /**
   * Writes an object of each colour, and returns the lowest of their revisions from which on nothing else is written by
   * this process.
   */
  async #writeLast(): Promise<number> {
    const {servers, name} = this.#options;
    using connection = new Connection(servers.urls[0]!, servers.token);
    let revision = 0;
    for (const color of [colors[1], colors[0]])
      for (let attempt = 0; ; attempt++) {
        const key = `${name}-last-${color}-${attempt}`;
        const wrote = {v: key, color};
        const called = microseconds();
        const {status, body} = await connection.ask({method: 'POST', path: collection, body: configMapOf(key, wrote)}, 8000);
        const about = {type: 'operation', client: name, verb: 'create', key, called, returned: microseconds(), wrote} as const;
        if (status === 201) {
          const item = itemOf(body as ConfigMap);
          this.#record({...about, outcome: 'ok', status, revision: item.revision, content: item.content});
          revision = item.revision;
          break;
        }
        this.#record({...about, outcome: 'unknown', status: typeof status === 'number' ? status : 0});
        if (attempt === 100) {
          this.#record({type: 'problem', at: microseconds(), text: `the server takes no writes after the faults: ${status}`});
          return 0;
        }
        await wait(200);
      }
    return revision;
  }
}

const withResolvers = (): {readonly promise: Promise<void>; readonly resolve: () => void} => {
  let resolve = (): void => {};
  const promise = new Promise<void>(settle => (resolve = settle));
  return {promise, resolve: () => resolve()};
};

const [, , argument] = process.argv;
if (argument && process.send) {
  const load = new Load(JSON.parse(argument) as LoadOptions);
  const send = (more: Partial<Progress> = {}): void => void process.send!({...load.progress, ...more});
  const timer = setInterval(send, 500);
  process.on('message', (message: string) => {
    if (message === 'work') load.work();
    else
      void load.end().then(() => {
        clearInterval(timer);
        send({isDone: true});
        process.disconnect();
      });
  });
  process.once('disconnect', () => process.exit(0));
  await load.begin();
  send({isReady: true});
}
