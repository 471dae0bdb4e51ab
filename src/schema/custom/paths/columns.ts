import type {Ago} from '#src/api/duration.js';
import {parseTime} from '#src/api/time.js';
import {wrapped} from '#src/schema/decode/wrapped-integer.js';
import {JsonPathError} from './json-path-parse.js';
import {jsonPath, type JsonPath} from './json-path.js';
import {textOf} from './path.js';

// Printer columns and selectable fields of custom resources. Paths are compiled once per definition; a value of the
// wrong type counts as absent.

/** A printer column as a custom resource definition declares it. */
export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

export type Cell = string | number | boolean | null;

/** A printer column with its path parsed. */
export interface CustomColumn extends ColumnDefinition {
  readonly description: string;
  /** Returns the cell's value; null if there is no value of the column's type. */
  of(object: unknown, ago: Ago): Cell;
}

const ageOf = (value: unknown, ago: Ago): Cell => {
  if (typeof value !== 'string') return null;
  if (value === '' || value === 'null') return '<unknown>';
  const at = parseTime(value);
  return at === undefined ? '<invalid>' : ago(at);
};

const cellOf = (type: string, value: unknown, ago: Ago): Cell => {
  switch (type) {
    case 'string':
      return textOf(value);
    case 'integer':
      if (typeof value === 'bigint') return value as unknown as number;
      return typeof value === 'number' ? (wrapped(Math.trunc(value), {}) as number) : null;
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return ageOf(value, ago);
    default:
      return null;
  }
};

/** Returns the first value at a path; undefined if there is none. */
const first = (path: JsonPath, object: unknown): {readonly value: unknown} | undefined => {
  try {
    const values = path(object);
    return values.length === 0 ? undefined : {value: values[0]};
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
};

const column = (definition: ColumnDefinition): CustomColumn => {
  const path = jsonPath(definition.jsonPath);
  const {type, description} = definition;
  return {
    ...definition,
    description: description || `Custom resource definition column (in JSONPath format): ${definition.jsonPath}`,
    of: (object, ago) => {
      const found = first(path, object);
      return found ? cellOf(type, found.value, ago) : null;
    },
  };
};

/** Returns the columns of a definition. Like the original, stops at the first column with an invalid path. */
export const customColumns = (definitions: readonly ColumnDefinition[]): CustomColumn[] => {
  const columns: CustomColumn[] = [];
  for (const definition of definitions) {
    try {
      columns.push(column(definition));
    } catch (error) {
      if (error instanceof JsonPathError) return columns;
      throw error;
    }
  }
  return columns;
};

/**
 * Returns the selectable fields of a custom resource: a function for each path that returns the object's value as text,
 * empty if absent.
 */
export const selectableFields = (paths: readonly string[]): ReadonlyMap<string, (object: unknown) => string> =>
  new Map(
    paths.map(path => {
      const follow = jsonPath(path);
      return [
        path.replace(/^\./, ''),
        object => {
          const {value} = first(follow, object) ?? {};
          return value === null || value === undefined ? '' : textOf(value);
        },
      ];
    }),
  );
