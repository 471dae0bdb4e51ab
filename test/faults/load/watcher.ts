// One watcher: it follows the objects of a history as an informer does, and records every event and every stream.

import {setTimeout as wait} from 'node:timers/promises';
import {seededRandom, type Random} from '#src/base/random.js';
import {microseconds, type EventType, type HistoryRecord} from '#test/faults/history/records.js';
import {Connection, type Servers} from './http.js';
import {collection, itemOf, selectorOf, type ConfigMap} from './objects.js';

export interface WatcherOptions {
  readonly name: string;
  readonly seed: number;
  /** Which of the objects are watched; all without. */
  readonly color: string | undefined;
  readonly servers: Servers;
  readonly record: (record: HistoryRecord) => void;
}

interface Line {
  readonly type: EventType | 'BOOKMARK' | 'ERROR';
  readonly object: ConfigMap & {readonly code?: number};
}

const patienceMs = 8000;

export class WatcherClient {
  /** The last revision it was told of. */
  reached: number | undefined;
  readonly #options: WatcherOptions;
  readonly #random: Random;
  readonly #connections: readonly Connection[];
  #isSynced = true;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#connections = options.servers.urls.map(url => new Connection(url, options.servers.token));
  }

  /** Calls `begun` when it has its first list. */
  async run(signal: AbortSignal, begun: () => void): Promise<void> {
    const isFirst = this.reached === undefined;
    while (!signal.aborted) {
      if (this.reached === undefined && (isFirst ? !(await this.#list()) : !(await this.#begin(signal)))) {
        await wait(20 + this.#below(80));
        continue;
      }
      begun();
      if (this.reached !== undefined) await this.#follow(this.#path(`&resourceVersion=${this.reached}`), signal);
      await wait(this.#below(4) === 0 ? this.#below(1500) : 10);
      if (this.reached !== undefined && !signal.aborted) this.#tell({what: 'resumed', after: this.reached});
    }
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }

  #below(bound: number): number {
    return Math.floor(this.#random.float() * bound);
  }

  #connection(): Connection {
    return this.#connections[this.#below(this.#connections.length)]!;
  }

  #tell(told: object): void {
    this.#options.record({type: 'watch', watcher: this.#options.name, at: microseconds(), ...told} as HistoryRecord);
  }

  #path(more: string): string {
    return `${collection}?watch=1&allowWatchBookmarks=true&timeoutSeconds=${2 + this.#below(8)}&${selectorOf(this.#options.color)}${more}`;
  }

  /** Begins anew, with a list or with initial events. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    if (this.#below(2) === 0) return this.#list();
    this.#tell({what: 'initial', color: this.#options.color});
    this.#isSynced = false;
    await this.#follow(this.#path('&sendInitialEvents=true&resourceVersionMatch=NotOlderThan'), signal);
    const isSynced = this.#isSynced;
    this.#isSynced = true;
    if (isSynced && this.reached !== undefined && !signal.aborted) this.#tell({what: 'resumed', after: this.reached});
    return isSynced && this.reached !== undefined;
  }

  async #list(): Promise<boolean> {
    const called = microseconds();
    const {color} = this.#options;
    const {status, body} = await this.#connection().ask({method: 'GET', path: `${collection}?${selectorOf(color)}`}, patienceMs);
    if (status !== 200) return false;
    const {metadata, items} = body as {readonly metadata: {readonly resourceVersion: string}; readonly items: readonly ConfigMap[]};
    const revision = (this.reached = Number(metadata.resourceVersion));
    const list = {called, returned: microseconds(), mode: 'newest', color, pages: 1, revision, items: items.map(itemOf)} as const;
    this.#options.record({type: 'list', client: this.#options.name, ...list});
    this.#tell({what: 'from', after: revision, color});
    return true;
  }

  /** Reads a stream to its end. */
  async #follow(path: string, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), 20_000);
    const response = await this.#connection().open(path, AbortSignal.any([signal, stop.signal]));
    let isGone = response?.statusCode === 410;
    if (response?.statusCode === 200) {
      let rest = '';
      try {
        for await (const part of response.setEncoding('utf8') as AsyncIterable<string>) {
          const lines = (rest + part).split('\n');
          rest = lines.pop()!;
          for (const line of lines) isGone = this.#receive(JSON.parse(line) as Line) || isGone;
        }
      } catch {
        // The connection broke: the watcher resumes.
      }
    } else response?.resume();
    clearTimeout(timer);
    this.#tell({what: 'ended', gone: isGone});
    if (isGone) this.reached = undefined;
  }

  /** Returns whether the stream says that its history is gone. */
  #receive({type, object}: Line): boolean {
    if (type === 'ERROR') return object.code === 410;
    const {key, revision, content} = itemOf(object);
    if (type !== 'BOOKMARK') {
      this.#tell({what: 'event', event: type, key, revision, content});
      if (this.#isSynced) this.reached = revision;
      return false;
    }
    const isInitialEnd = Object.keys(object.metadata.annotations ?? {}).some(name => name.endsWith('/initial-events-end'));
    if (isInitialEnd) this.#isSynced = true;
    if (!this.#isSynced) return false;
    this.#tell({what: isInitialEnd ? 'synced' : 'bookmark', revision});
    this.reached = revision;
    return false;
  }
}
