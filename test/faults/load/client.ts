// One client: it draws operations from its seed, one after the other, and records each.

import {setTimeout as wait} from 'node:timers/promises';
import {seededRandom, type Random} from '#src/base/random.js';
import {
  microseconds,
  type HistoryRecord,
  type Item,
  type Listing,
  type Operation,
  type Outcome,
  type Verb,
} from '#test/faults/history/records.js';
import {Connection, type Answered, type Asked, type Servers} from './http.js';
import {applied, collection, colors, configMapOf, itemOf, selectorOf, type ConfigMap} from './objects.js';

/** How long an answer is waited for. A paused server may answer later than that, and have written all the same. */
const patienceMs = 8000;

/** How often each operation is drawn. */
const weights: readonly (readonly [Verb | 'list' | 'pages', number])[] = [
  ['create', 14],
  ['get', 22],
  ['update', 24],
  ['patch', 12],
  ['apply', 10],
  ['delete', 9],
  ['list', 6],
  ['pages', 3],
];
const sum = weights.reduce((total, [, weight]) => total + weight, 0);

export interface ClientOptions {
  readonly name: string;
  readonly seed: number;
  readonly keys: number;
  readonly servers: Servers;
  readonly record: (record: HistoryRecord) => void;
}

interface ListBody {
  readonly metadata: {readonly resourceVersion: string; readonly continue?: string};
  readonly items: readonly ConfigMap[];
}

export class Client {
  readonly #options: ClientOptions;
  readonly #random: Random;
  readonly #connections: readonly Connection[];
  /** What it knows of the objects, which may be out of date. */
  readonly #seen = new Map<string, Item>();
  #newest = 0;
  #count = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#connections = options.servers.urls.map(url => new Connection(url, options.servers.token));
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await this.#next();
    for (const connection of this.#connections) connection[Symbol.dispose]();
  }

  #below(bound: number): number {
    return Math.floor(this.#random.float() * bound);
  }

  #ask(asked: Asked): Promise<Answered> {
    return this.#connections[this.#below(this.#connections.length)]!.ask(asked, patienceMs);
  }

  async #next(): Promise<void> {
    let drawn = this.#random.float() * sum;
    const [kind] = weights.find(([, weight]) => (drawn -= weight) < 0)!;
    const key = `k${this.#below(this.#options.keys)}`;
    const seen = this.#seen.get(key);
    if (kind === 'list' || kind === 'pages') await this.#list(kind === 'pages');
    else if (!seen && (kind === 'update' || kind === 'delete')) await this.#operate('get', key);
    else if (kind === 'update' && this.#below(2) === 0) {
      await this.#operate('get', key);
      await this.#operate(this.#seen.has(key) ? 'update' : 'create', key);
    } else await this.#operate(kind, key);
  }

  async #operate(verb: Verb, key: string): Promise<void> {
    const {input, asked} = this.#draw(verb, key);
    const called = microseconds();
    const {status, body} = await this.#ask(asked);
    const returned = microseconds();
    const outcome = outcomeOf(status, body, verb);
    const {wrote, expected, any, content} = input;
    const item = outcome === 'ok' && verb !== 'delete' ? itemOf(body as ConfigMap) : undefined;
    if (item) this.#learn(item);
    else if (outcome === 'missing' || (outcome === 'ok' && verb === 'delete') || outcome === 'conflict') this.#seen.delete(key);
    this.#options.record({
      type: 'operation',
      client: this.#options.name,
      verb,
      key,
      called,
      returned,
      wrote,
      expected,
      any,
      outcome,
      status: typeof status === 'number' ? status : 0,
      revision: item?.revision,
      content: item?.content ?? content,
    });
    if (outcome === 'unknown' || outcome === 'refused') await wait(20 + this.#below(60));
  }

  #learn(item: Item): void {
    this.#seen.set(item.key, item);
    this.#newest = Math.max(this.#newest, item.revision);
  }

  #draw(verb: Verb, key: string): {readonly input: Pick<Operation, 'wrote' | 'expected' | 'any' | 'content'>; readonly asked: Asked} {
    const seen = this.#seen.get(key);
    const path = `${collection}/${key}`;
    const value = `${this.#options.name}.${this.#count++}`;
    const color = colors[this.#below(colors.length)]!;
    switch (verb) {
      case 'create': {
        const wrote = {v: value, color};
        return {input: {wrote}, asked: {method: 'POST', path: collection, body: configMapOf(key, wrote)}};
      }
      case 'update': {
        const {revision, content} = seen!;
        const wrote = {...content, v: value, color};
        return {input: {wrote, expected: revision}, asked: {method: 'PUT', path, body: configMapOf(key, wrote, revision)}};
      }
      case 'patch':
        return {
          input: {wrote: {p: value}},
          asked: {method: 'PATCH', path, body: {data: {p: value}}, contentType: 'application/merge-patch+json'},
        };
      case 'apply':
        return {
          input: {wrote: {a: value}},
          asked: {
            method: 'PATCH',
            path: `${path}?fieldManager=faults&force=true`,
            body: applied(key, value),
            contentType: 'application/apply-patch+yaml',
          },
        };
      case 'delete': {
        const {revision, content} = seen!;
        const preconditions = {uid: content.uid, resourceVersion: String(revision)};
        return {input: {expected: revision, content: {uid: content.uid}}, asked: {method: 'DELETE', path, body: {preconditions}}};
      }
      default: {
        const any = this.#below(5) === 0 ? true : undefined;
        return {input: {any}, asked: {method: 'GET', path: any ? `${path}?resourceVersion=0` : path}};
      }
    }
  }

  async #list(inPages: boolean): Promise<void> {
    const drawn = this.#below(8);
    const color = this.#below(4) === 0 ? colors[0] : undefined;
    const asked = this.#newest;
    const mode: Listing['mode'] = inPages || drawn < 4 || asked === 0 ? 'newest' : drawn < 5 ? 'any' : drawn < 7 ? 'notOlder' : 'exact';
    const versions = {
      newest: '',
      any: '&resourceVersion=0',
      notOlder: `&resourceVersion=${asked}&resourceVersionMatch=NotOlderThan`,
      exact: `&resourceVersion=${asked}&resourceVersionMatch=Exact`,
    };
    const called = microseconds();
    const items: Item[] = [];
    let [revision, pages, next] = [0, 0, ''];
    do {
      const path = `${collection}?${selectorOf(color)}${versions[mode]}${inPages ? '&limit=4' : ''}${next && `&continue=${encodeURIComponent(next)}`}`;
      const {status, body} = await this.#ask({method: 'GET', path});
      // History that is gone, a stopped server and the like: the next list begins anew.
      if (status !== 200) return;
      const {metadata, items: page} = body as ListBody;
      if (pages++ > 0 && Number(metadata.resourceVersion) !== revision)
        this.#problem(`page ${pages} of a list at ${revision} is of ${metadata.resourceVersion}`);
      revision = Number(metadata.resourceVersion);
      items.push(...page.map(itemOf));
      next = metadata.continue ?? '';
    } while (next !== '');
    for (const item of items) this.#learn(item);
    const given = mode === 'notOlder' || mode === 'exact' ? {asked} : {};
    this.#options.record({
      type: 'list',
      client: this.#options.name,
      called,
      returned: microseconds(),
      mode,
      ...given,
      color,
      pages,
      revision,
      items,
    });
  }

  #problem(text: string): void {
    this.#options.record({type: 'problem', at: microseconds(), text: `${this.#options.name}: ${text}`});
  }
}

/** A full disk and a busy server have written nothing; a server that fails, or whose store does not answer, may have. */
const outcomeOf = (status: Answered['status'], body: unknown, verb: Verb): Outcome => {
  if (status === 'unsent') return 'refused';
  if (status === 'lost') return verb === 'get' ? 'refused' : 'unknown';
  if (status === 200 || status === 201) return 'ok';
  if (status === 404) return 'missing';
  if (status === 409) return (body as {reason?: string} | undefined)?.reason === 'AlreadyExists' ? 'exists' : 'conflict';
  return status < 500 || status === 507 || verb === 'get' ? 'refused' : 'unknown';
};
