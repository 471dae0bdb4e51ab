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

/** Returns the JSON patch that changes one value to another, in steps. Lists that differ are replaced as a whole, and fields that are undefined count as missing. */
export const jsonDifference = function* (from: unknown, to: unknown, path = ''): Steps<Operation[]> {
  if (!isFields(from) || !isFields(to)) {
    const differ = Array.isArray(from) && Array.isArray(to) ? yield* listsDiffer(from, to) : from !== to;
    return differ ? [{op: 'replace', path, value: to}] : [];
  }
  const operations: Operation[] = [];
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[field], to[field]];
    const at = `${path}/${escaped(field)}`;
    if (after === undefined) {
      if (before !== undefined) operations.push({op: 'remove', path: at});
    } else if (before === undefined) operations.push({op: 'add', path: at, value: after});
    else for (const operation of yield* jsonDifference(before, after, at)) operations.push(operation);
    yield;
  }
  return operations;
};
