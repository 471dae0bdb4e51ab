// The reference data of the repository: facts and hashes of what Kubernetes 1.35 serves, as tables of lines with tabs
// in test/fixtures/reference. tools/reference-data.mjs writes them.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {canonicalJson} from '#src/base/json/canonical-json.js';

/** The tables of the folder. */
export type TableName = 'aggregated' | 'discovery' | 'groups' | 'openapi-v3' | 'policy' | 'policy-with-all-gates' | 'round-trips';

const policyColumns = ['kind', 'name', 'labels and annotations', 'rules', 'rest'];

/** The columns of each table; the first two identify a line. */
export const columns: Readonly<Record<TableName, readonly string[]>> = {
  aggregated: ['group version', 'resource', 'hash'],
  discovery: ['group version', 'resource', 'kind', 'scope', 'verbs', 'short names', 'categories', 'singular', 'storage version hash'],
  groups: ['group', 'versions'],
  'openapi-v3': ['document', 'schema or path', 'hash'],
  policy: policyColumns,
  'policy-with-all-gates': policyColumns,
  'round-trips': ['api version', 'kind', 'json', 'yaml', 'cbor', 'protobuf'],
};

export type Row = readonly string[];

export const tablePath = (name: TableName): string => `test/fixtures/reference/${name}.tsv`;

/** Returns the text of a table, with its columns in the first line. */
export const tableText = (name: TableName, rows: readonly Row[]): string =>
  [columns[name], ...rows].map(row => `${row.join('\t')}\n`).join('');

/** Reads a table of the repository. */
export const readTable = (name: TableName): Row[] => {
  const lines = readFileSync(tablePath(name), 'utf8').split('\n');
  return lines.slice(1, -1).map(line => line.split('\t'));
};

/** Returns a short hash of bytes or of a value's canonical JSON. */
export const hashOf = (value: unknown): string =>
  createHash('sha256')
    .update(Buffer.isBuffer(value) || typeof value === 'string' ? value : canonicalJson(value))
    .digest('base64url')
    .slice(0, 12);

/**
 * Returns how two tables differ, a line for each: what is missing, what is too much, and which columns of a line have
 * other values. The first two columns identify a line.
 */
export const differences = (name: TableName, wanted: readonly Row[], found: readonly Row[]): string[] => {
  const keyOf = ([first, second]: Row): string => `${first} ${second}`;
  const own = new Map(found.map(row => [keyOf(row), row]));
  const known = new Set(wanted.map(keyOf));
  return [
    ...wanted.flatMap(row => {
      const other = own.get(keyOf(row));
      if (!other) return [`${keyOf(row)}: is missing`];
      return columns[name].flatMap((column, index) =>
        row[index] === other[index] ? [] : [`${keyOf(row)}: ${column} is ${other[index] || '(none)'}, should be ${row[index] || '(none)'}`],
      );
    }),
    ...found.filter(row => !known.has(keyOf(row))).map(row => `${keyOf(row)}: is too much`),
  ];
};
