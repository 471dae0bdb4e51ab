import {sameJson} from '#src/api/equal.js';

/** An operation of a JSON patch (RFC 6902). */
type Operation =
  | {readonly op: 'add' | 'replace'; readonly path: string; readonly value: unknown}
  | {readonly op: 'remove'; readonly path: string};

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const escaped = (field: string): string => field.replaceAll('~', '~0').replaceAll('/', '~1');

/** Returns the JSON patch that changes one value to another. Lists that differ are replaced as a whole, and fields that are undefined count as missing. */
export const jsonDifference = (from: unknown, to: unknown, path = ''): Operation[] => {
  if (!isFields(from) || !isFields(to)) return sameJson(from, to) ? [] : [{op: 'replace', path, value: to}];
  const operations: Operation[] = [];
  for (const field of new Set([...Object.keys(from), ...Object.keys(to)])) {
    const [before, after] = [from[field], to[field]];
    const at = `${path}/${escaped(field)}`;
    if (after === undefined) {
      if (before !== undefined) operations.push({op: 'remove', path: at});
    } else if (before === undefined) operations.push({op: 'add', path: at, value: after});
    else operations.push(...jsonDifference(before, after, at));
  }
  return operations;
};
