// Histories as a correct server would give them to clients that overlap in time, for tests of the checker.

import {seededRandom} from '#src/base/random.js';
import type {Content} from '#test/faults/history/content.js';
import type {EventType, HistoryRecord, Item, Listing, Operation, Verb, WatchRecord} from '#test/faults/history/records.js';
import {absent, after, type State} from './model.js';

interface SampleOptions {
  readonly seed: number;
  readonly operations: number;
  readonly clients?: number;
  readonly keys?: number;
}

const verbs: readonly Verb[] = ['create', 'get', 'get', 'update', 'update', 'patch', 'apply', 'delete'];
const colors = ['red', 'blue'];

/** An operation under way. It takes effect at `effect`. */
interface Call {
  readonly client: string;
  readonly called: number;
  readonly effect: number;
  readonly returned: number;
  readonly verb: Verb;
  readonly key: string;
}

class Sample {
  readonly records: HistoryRecord[] = [];
  readonly #options: Required<SampleOptions>;
  readonly #random;
  readonly #states = new Map<string, State>();
  readonly #watchers: readonly {readonly name: string; readonly color: string | undefined; last: number}[];
  #revision = 10;
  #value = 0;

  constructor(options: SampleOptions) {
    this.#options = {clients: 8, keys: 6, ...options};
    this.#random = seededRandom(options.seed);
    this.#watchers = [undefined, undefined, 'red'].map((color, index) => ({name: `w${index}`, color, last: 10}));
    for (const {name, color} of this.#watchers) this.#tell({watcher: name, what: 'from', after: 10, color});
  }

  run(): readonly HistoryRecord[] {
    const calls = Array.from({length: this.#options.clients}, (_, index) => this.#call(`c${index}`, index));
    for (let done = 0; done < this.#options.operations; done++) {
      const next = calls.reduce((least, call) => (call.effect < least.effect ? call : least));
      this.#perform(next);
      calls[calls.indexOf(next)] = this.#call(next.client, next.returned);
      if (done % 50 === 0) this.#list(next.effect);
      if (done % 200 === 0) this.#resume();
    }
    for (const {name} of this.#watchers) this.#tell({watcher: name, what: 'bookmark', revision: this.#revision});
    return this.records;
  }

  #below(bound: number): number {
    return Math.floor(this.#random.float() * bound);
  }

  #call(client: string, from: number): Call {
    const called = from + 1 + this.#below(20);
    const effect = called + 1 + this.#random.float() * 50;
    return {
      client,
      called,
      effect,
      returned: effect + 1 + this.#below(50),
      verb: verbs[this.#below(verbs.length)]!,
      key: `k${this.#below(this.#options.keys)}`,
    };
  }

  #input(verb: Verb, {content, revision}: State): Pick<Operation, 'wrote' | 'expected' | 'content'> {
    const value = `x${this.#value++}`;
    const color = colors[this.#below(2)];
    const stale = this.#below(4) === 0 ? 1 : 0;
    if (verb === 'create') return {wrote: {v: value, color}};
    if (verb === 'patch') return {wrote: {p: value}};
    if (verb === 'apply') return {wrote: {a: value}};
    if (verb === 'update') return {wrote: {...content, v: value, color}, expected: revision - stale};
    return verb === 'delete' ? {expected: revision - stale, content: {uid: content?.uid}} : {};
  }

  #perform({verb, key, effect: _effect, ...call}: Call): void {
    const state = this.#states.get(key) ?? absent;
    if (!state.content && (verb === 'update' || verb === 'delete')) return;
    const operation = {type: 'operation', ...call, verb, key, status: 200, ...this.#input(verb, state)} as const;
    const isUnanswered = this.#below(100) === 0;
    const next = after({...operation, outcome: verb === 'get' ? 'missing' : 'unknown'}, state);
    const content = next?.content && {...next.content, uid: next.content.uid ?? `uid-${this.#value++}`};
    if (verb === 'get') {
      const found = state.content
        ? ({outcome: 'ok', revision: state.revision, content: state.content} as const)
        : ({outcome: 'missing'} as const);
      this.records.push({...operation, ...found});
      return;
    }
    if (!next) {
      const outcome = verb === 'create' ? 'exists' : state.content ? 'conflict' : 'missing';
      this.records.push({...operation, outcome: isUnanswered ? 'unknown' : outcome});
      return;
    }
    // Half of those without an answer have an effect.
    if (isUnanswered && this.#below(2) === 0) {
      this.records.push({...operation, outcome: 'unknown'});
      return;
    }
    const revision = (this.#revision += 1 + this.#below(3));
    this.#states.set(key, {revision, isExact: true, content});
    const answer = verb === 'delete' ? {} : {revision, content};
    this.records.push(isUnanswered ? {...operation, outcome: 'unknown'} : {...operation, outcome: 'ok', ...answer});
    this.#send(key, revision, state.content, content);
  }

  #send(key: string, revision: number, before: Content | undefined, content: Content | undefined): void {
    for (const watcher of this.#watchers) {
      const isIn = (one: Content | undefined) => one !== undefined && (watcher.color === undefined || one.color === watcher.color);
      if (!isIn(before) && !isIn(content)) continue;
      const event: EventType = isIn(content) ? (isIn(before) ? 'MODIFIED' : 'ADDED') : 'DELETED';
      watcher.last = revision;
      this.#tell({watcher: watcher.name, what: 'event', event, key, revision, content: event === 'DELETED' ? before! : content!});
    }
  }

  #tell(record: Told): void {
    this.records.push({type: 'watch', at: 0, ...record});
  }

  #resume(): void {
    const {name, last, color} = this.#watchers[this.#below(this.#watchers.length)]!;
    this.#tell({watcher: name, what: 'ended', gone: false});
    this.#tell({watcher: name, what: 'resumed', after: last, color});
  }

  #list(at: number): void {
    const items: Item[] = [...this.#states].flatMap(([key, {revision, content}]) => (content ? [{key, revision, content}] : []));
    const list: Listing = {
      type: 'list',
      client: 'lister',
      called: at - 0.5,
      returned: at,
      mode: 'newest',
      pages: 1,
      revision: this.#revision,
      items,
    };
    this.records.push(list);
  }
}

type Told = WatchRecord extends infer One ? (One extends WatchRecord ? Omit<One, 'type' | 'at'> : never) : never;

/** Returns a correct history, the same for the same seed. */
export const sampleHistory = (options: SampleOptions): readonly HistoryRecord[] => new Sample(options).run();
