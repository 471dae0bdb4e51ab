import {setProperty} from '#src/base/json/set-property.js';
import {ownValue} from '#src/base/own.js';
import type {Steps} from '#src/base/steps.js';

/** An operation of a JSON patch (RFC 6902). */
type Operation =
  | {readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown}
  | {readonly op: 'remove'; readonly path: string};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (field: string): string => field.replaceAll('~', '~0').replaceAll('/', '~1');

const listsDiffer = function* (from: readonly unknown[], to: readonly unknown[]): Steps<boolean> {
  if (from.length !== to.length) return true;
  for (const [at, item] of from.entries()) {
    if ((yield* jsonDifference(item, to[at])).length > 0) return true;
    yield;
  }
  return false;
};

/** Collects the bigints of a value by their rounded number. */
const collectDigits = function* (exact: unknown, known: Map<number, bigint>): Steps<void> {
  if (typeof exact === 'bigint') known.set(Number(exact), exact);
  if (typeof exact !== 'object' || exact === null) return;
  for (const part of Object.values(exact)) {
    yield* collectDigits(part, known);
    yield;
  }
};

/** Returns a value with the exact integers restored: of the same place, or of anywhere in `known`. */
const inDigits = function* (from: unknown, to: unknown, exact: unknown, known: ReadonlyMap<number, bigint>): Steps<unknown> {
  if (typeof to === 'number') return from === to ? exact : (known.get(to) ?? to);
  if (typeof to !== 'object' || to === null) return to;
  const [fromParts, exactParts] = [partsOf(from), partsOf(exact)];
  const result = (Array.isArray(to) ? [] : {}) as Record<string, unknown>;
  for (const [field, value] of Object.entries(to)) {
    setProperty(result, field, yield* inDigits(ownValue(fromParts, field), value, ownValue(exactParts, field), known));
    yield;
  }
  return result;
};

const partsOf = (value: unknown): Fields | undefined => (typeof value === 'object' && value !== null ? (value as Fields) : undefined);

/** Returns a changed list with the exact integers of its old items restored. */
const listInDigits = function* (from: unknown, to: unknown, exact: unknown): Steps<unknown> {
  const known = new Map<number, bigint>();
  yield* collectDigits(exact, known);
  return known.size === 0 ? to : yield* inDigits(from, to, exact, known);
};

/**
 * Returns the JSON patch between two values, yielding in between. Lists that differ are replaced as a whole, and
 * undefined fields count as missing. `exact` is `from` with bigints for integers beyond 2^53: changed lists in the
 * patch keep these.
 */
export const jsonDifference = function* (from: unknown, to: unknown, path = '', exact = from): Steps<Operation[]> {
  if (!isFields(from) || !isFields(to)) {
    if (!Array.isArray(from) || !Array.isArray(to)) return from === to ? [] : [{op: 'replace', path, value: to}];
    if (!(yield* listsDiffer(from, to))) return [];
    return [{op: 'replace', path, value: yield* listInDigits(from, to, exact)}];
  }
  const operations: Operation[] = [];
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[field], to[field]];
    const at = `${path}/${escaped(field)}`;
    if (after === undefined) {
      if (before !== undefined) operations.push({op: 'remove', path: at});
    } else if (before === undefined) operations.push({op: 'add', path: at, value: after});
    else for (const operation of yield* jsonDifference(before, after, at, ownValue(exact as Fields, field))) operations.push(operation);
    yield;
  }
  return operations;
};
