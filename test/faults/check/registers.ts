// Linearizability of one object's operations (each object by itself: a history is linearizable if it is for each
// object). The search goes through the operations in order of time and keeps all states that the answers so far allow,
// with the operations under way that have already taken effect in each. An operation is given its place when it has to
// have one: at its return (G. Lowe, Testing for linearizability, 2017). Three things keep the search linear: reads that
// fit a state are placed at once, as they change nothing; writes whose revisions are known have one order; and an
// operation that was never answered is only placed where no other explains an answer, or where its revision was seen.

import {shown} from '#test/faults/history/content.js';
import type {Operation} from '#test/faults/history/records.js';
import {absent, after, isRead, type State} from './model.js';

/** A state that is possible at a moment, and which of the operations under way it contains. */
interface Possibility {
  readonly state: State;
  readonly done: ReadonlySet<Operation>;
}

/** How many operations without an answer may explain one answer, and how many steps a search takes at most. */
const mostUnanswered = 4;
const mostSteps = 200_000;

class Search {
  #possible: Possibility[] = [{state: absent, done: new Set()}];
  /** Under way, or without an answer but seen by somebody. */
  readonly #pending = new Set<Operation>();
  /** Without an answer, and what they wrote was never seen. */
  readonly #unanswered = new Set<Operation>();
  readonly #numbers = new Map<Operation, number>();
  #steps = 0;

  begin(operation: Operation): void {
    this.#numbers.set(operation, this.#numbers.size);
    (operation.outcome === 'unknown' && operation.revision === undefined ? this.#unanswered : this.#pending).add(operation);
  }

  /** Returns a problem if the operation has no place. */
  end(operation: Operation): string | undefined {
    let next = new Map<string, Possibility>();
    for (let unanswered = 0; next.size === 0 && unanswered <= mostUnanswered; unanswered++) {
      next = new Map();
      this.#steps = 0;
      for (const possibility of this.#possible) this.#place(operation, possibility, unanswered, next);
      if (this.#unanswered.size === 0) break;
    }
    if (next.size === 0) return this.#problem(operation);
    this.#pending.delete(operation);
    this.#possible = [...next.values()].map(({state, done}) => ({
      state,
      done: done.has(operation) ? new Set([...done].filter(one => one !== operation)) : done,
    }));
    this.#forget();
    return undefined;
  }

  /** Finds the states in which the operation has taken its place, with so many of those without an answer before it. */
  #place(operation: Operation, {state, done}: Possibility, unanswered: number, found: Map<string, Possibility>): void {
    if (++this.#steps > mostSteps) return;
    const settled = this.#settle(state, done);
    if (settled.done.has(operation)) {
      if (unanswered === 0) found.set(this.#name(settled), settled);
      return;
    }
    for (const other of this.#pending) {
      if (settled.done.has(other) || isRead(other)) continue;
      // Known revisions leave one order.
      if (other !== operation && other.revision !== undefined && operation.revision !== undefined && other.revision > operation.revision)
        continue;
      this.#step(operation, other, settled, unanswered, found);
    }
    if (unanswered > 0)
      for (const other of this.#unanswered) if (!settled.done.has(other)) this.#step(operation, other, settled, unanswered - 1, found);
  }

  #step(operation: Operation, other: Operation, {state, done}: Possibility, unanswered: number, found: Map<string, Possibility>): void {
    const next = after(other, state);
    if (next) this.#place(operation, {state: next, done: new Set(done).add(other)}, unanswered, found);
  }

  /** Places all reads under way that fit the state. */
  #settle(state: State, done: ReadonlySet<Operation>): Possibility {
    let now = state;
    let more: Set<Operation> | undefined;
    for (const operation of this.#pending) {
      if (!isRead(operation) || done.has(operation)) continue;
      const next = after(operation, now);
      if (!next) continue;
      now = next;
      (more ??= new Set(done)).add(operation);
    }
    return {state: now, done: more ?? done};
  }

  /** Drops those without an answer that can no longer take effect: their revision has passed in all states. */
  #forget(): void {
    const lowest = Math.min(...this.#possible.map(({state}) => state.revision));
    const passed = [...this.#pending].filter(
      ({outcome, revision}) => outcome === 'unknown' && revision !== undefined && revision <= lowest,
    );
    for (const operation of passed) this.#pending.delete(operation);
    const used = (operation: Operation) => this.#possible.every(({done}) => done.has(operation));
    for (const operation of this.#unanswered)
      if (this.#possible[0]!.done.has(operation) && used(operation)) {
        this.#unanswered.delete(operation);
        passed.push(operation);
      }
    if (passed.length === 0) return;
    this.#possible = this.#possible.map(({state, done}) => ({state, done: new Set([...done].filter(one => !passed.includes(one)))}));
  }

  #name({state: {revision, isExact, content}, done}: Possibility): string {
    const numbers = [...done].map(operation => this.#numbers.get(operation)!).sort((a, b) => a - b);
    return `${revision} ${isExact} ${content ? shown(content) : ''} ${numbers.join(',')}`;
  }

  #problem(operation: Operation): string {
    const states = this.#possible
      .slice(0, 4)
      .map(({state: {revision, isExact, content}}) => `${content ? shown(content) : 'absent'} ${isExact ? 'at' : 'after'} ${revision}`);
    const concurrent = [...this.#pending].filter(one => one !== operation).slice(0, 6);
    return `${described(operation)} fits no order of the operations; possible before it: ${states.join(' or ')}; under way: ${
      concurrent.map(described).join('; ') || 'none'
    }`;
  }
}

/** A line on an operation for readers. */
export const described = ({client, verb, key, outcome, status, expected, wrote, revision, content, called}: Operation): string =>
  [
    `${client} ${verb} ${key}`,
    ...(expected === undefined ? [] : [`if at ${expected}`]),
    ...(wrote ? [`with ${shown(wrote)}`] : []),
    `: ${outcome} (${status})`,
    ...(revision === undefined ? [] : [`at ${revision}`]),
    ...(content && verb !== 'delete' ? [shown(content)] : []),
    `called at ${called}`,
  ].join(' ');

/**
 * Returns the first problem of the operations of one key, if there is one. Reads that accept any state are not among
 * them.
 */
export const checkRegister = (operations: readonly Operation[]): string | undefined => {
  const moments = operations.flatMap(operation => [
    {at: operation.called, isEnd: false, operation},
    ...(operation.outcome === 'unknown' ? [] : [{at: operation.returned, isEnd: true, operation}]),
  ]);
  moments.sort((a, b) => a.at - b.at || Number(a.isEnd) - Number(b.isEnd));
  const search = new Search();
  for (const {isEnd, operation} of moments) {
    if (!isEnd) search.begin(operation);
    else {
      const problem = search.end(operation);
      if (problem) return problem;
    }
  }
  return undefined;
};
