// The checker: whether a history is one that a correct server can have. docs/testing.md lists what it checks.

import type {HistoryRecord, Listing, Operation} from '#test/faults/history/records.js';
import {checkLists, checkRecency} from './lists.js';
import {checkRegister} from './registers.js';
import {Versions} from './versions.js';
import {checkSegment, coveredBy, WatcherLog} from './watches.js';
import {checkAcknowledged, checkOrder, checkVersions, withRevisions} from './writes.js';

export interface Verdict {
  readonly problems: readonly string[];
  readonly operations: number;
  /** Operations without an answer. */
  readonly unknown: number;
  readonly lists: number;
  readonly watchers: number;
  /** Events received by all watchers, and how often one began or resumed a stream. */
  readonly events: number;
  readonly streams: number;
}

/** The most problems that are reported: one mistake has many effects. */
const mostProblems = 50;

/** Checks a history. */
export const check = async (records: AsyncIterable<HistoryRecord> | Iterable<HistoryRecord>): Promise<Verdict> => {
  const history = new History();
  for await (const record of records) history.add(record);
  return history.verdict();
};

class History {
  readonly #operations: Operation[] = [];
  readonly #lists: Listing[] = [];
  readonly #watchers = new Map<string, WatcherLog>();
  readonly #versions = new Versions();
  readonly #problems: string[] = [];
  #streams = 0;
  #end = 0;

  add(record: HistoryRecord): void {
    switch (record.type) {
      case 'operation':
        this.#addOperation(record);
        return;
      case 'list':
        this.#lists.push(record);
        for (const {key, revision, content} of record.items) this.#note(key, revision, content);
        return;
      case 'watch': {
        const log = this.#watchers.get(record.watcher) ?? new WatcherLog();
        this.#watchers.set(record.watcher, log);
        log.add(record);
        if (record.what === 'from' || record.what === 'resumed' || record.what === 'initial') this.#streams++;
        return;
      }
      case 'problem':
        this.#problems.push(record.text);
        return;
      default:
    }
  }

  #addOperation(operation: Operation): void {
    this.#operations.push(operation);
    const {verb, outcome, key, revision, content} = operation;
    if (outcome === 'ok' && verb !== 'delete') this.#note(key, revision!, content!);
    if (revision !== undefined) this.#end = Math.max(this.#end, revision);
  }

  #note(...seen: Parameters<Versions['note']>): void {
    const problem = this.#versions.note(...seen);
    if (problem !== undefined) this.#problems.push(problem);
  }

  #noteEvents(): void {
    for (const {segments, problems} of this.#watchers.values()) {
      this.#problems.push(...problems);
      for (const {color, events, initial} of segments) {
        for (const {key, revision, content} of initial?.values() ?? []) this.#note(key, revision, content);
        // For a watcher of a colour a deletion may be a change of colour, and is dated by its revision all the same.
        for (const {event, key, revision, content} of events)
          if (event !== 'DELETED') this.#note(key, revision, content);
          else if (color === undefined) this.#note(key, revision, undefined, content);
      }
    }
  }

  *#check(): Generator<string> {
    const segments = [...this.#watchers.values()].flatMap(log => log.segments);
    this.#versions.settle(coveredBy(segments));
    const operations = withRevisions(this.#operations, this.#versions);
    yield* checkAcknowledged(operations, this.#versions, this.#end);
    yield* checkVersions(operations, this.#versions);
    const registers = new Map<string, Operation[]>();
    for (const operation of operations) {
      if (operation.outcome === 'refused' || operation.any) continue;
      const register = registers.get(operation.key);
      if (register) register.push(operation);
      else registers.set(operation.key, [operation]);
    }
    for (const register of registers.values()) {
      const problem = checkRegister(register);
      if (problem !== undefined) yield problem;
    }
    yield* checkOrder(operations);
    const initial = segments.flatMap(({watcher, color, after, initial}) =>
      initial && after !== undefined ? [initialList(watcher, color, after, initial)] : [],
    );
    yield* checkLists([...this.#lists, ...initial], this.#versions);
    yield* checkRecency(this.#lists, operations);
    for (const segment of segments) yield* checkSegment(segment, this.#versions);
  }

  verdict(): Verdict {
    this.#noteEvents();
    const problems = [...new Set(this.#problems)].slice(0, mostProblems);
    for (const problem of this.#check()) {
      if (problems.length >= mostProblems) break;
      problems.push(problem);
    }
    const logs = [...this.#watchers.values()];
    return {
      problems,
      operations: this.#operations.length,
      unknown: this.#operations.filter(({outcome}) => outcome === 'unknown').length,
      lists: this.#lists.length,
      watchers: logs.length,
      events: logs.flatMap(({segments}) => segments).reduce((sum, {events}) => sum + events.length, 0),
      streams: this.#streams,
    };
  }
}

const initialList = (
  watcher: string,
  color: string | undefined,
  revision: number,
  items: NonNullable<WatcherLog['segments'][number]['initial']>,
): Listing => ({
  type: 'list',
  client: watcher,
  called: 0,
  returned: 0,
  mode: 'any',
  color,
  pages: 1,
  revision,
  items: [...items.values()],
});
