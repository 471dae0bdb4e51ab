// What a new schema of a version no longer accepts, and which defaults it changes.

import {sameJson} from '#src/api/equal.js';
import {jsonText} from '#src/base/json/json.js';
import {additionalOf, itemsOf, type JsonSchema} from '#src/schema/json-schema.js';

/** A change of a schema at the path of a field, as objects have it; items of lists are `[*]`. */
export interface SchemaChange {
  readonly path: string;
  readonly text: string;
}

/** A default that is another one now. */
export interface DefaultChange {
  readonly path: string;
  readonly before: unknown;
  readonly now: unknown;
}

export interface SchemaChanges {
  readonly narrowed: readonly SchemaChange[];
  readonly defaults: readonly DefaultChange[];
}

/** The most changes of one schema that are found. */
const mostChanges = 100;

const upper = ['maximum', 'maxLength', 'maxItems', 'maxProperties'] as const;
const lower = ['minimum', 'minLength', 'minItems', 'minProperties'] as const;
const exact = ['type', 'pattern', 'format', 'multipleOf', 'x-kubernetes-list-type', 'x-kubernetes-map-type'] as const;
const flags = ['uniqueItems', 'exclusiveMaximum', 'exclusiveMinimum'] as const;

/** Compares two schemas of the same version. */
export const schemaChanges = (before: JsonSchema, now: JsonSchema): SchemaChanges => {
  const comparison = new Comparison();
  comparison.compare(before, now, '');
  return comparison;
};

class Comparison implements SchemaChanges {
  readonly narrowed: SchemaChange[] = [];
  readonly defaults: DefaultChange[] = [];

  compare(before: JsonSchema, now: JsonSchema, path: string): void {
    if (this.narrowed.length >= mostChanges || sameJson(before, now)) return;
    for (const text of ownChanges(before, now)) this.#narrow(path || 'the object', text);
    if (
      before.default !== undefined &&
      now.default !== undefined &&
      !sameJson(before.default, now.default) &&
      this.defaults.length < mostChanges
    )
      this.defaults.push({path, before: before.default, now: now.default});
    this.#properties(before, now, path);
    const [items, nowItems] = [itemsOf(before), itemsOf(now)];
    if (items && nowItems) this.compare(items, nowItems, `${path}[*]`);
    const [values, nowValues] = [additionalOf(before), additionalOf(now)];
    if (values && nowValues) this.compare(values, nowValues, `${path}[*]`);
  }

  #properties(before: JsonSchema, now: JsonSchema, path: string): void {
    const inner = (name: string) => (path ? `${path}.${name}` : name);
    for (const [name, property] of Object.entries(before.properties ?? {})) {
      const kept = now.properties?.[name];
      if (kept) this.compare(property, kept, inner(name));
      else if (!acceptsMore(now)) this.#narrow(inner(name), 'is no longer declared: it is dropped from what is written');
    }
    for (const name of now.required ?? [])
      if (!before.required?.includes(name) && (now.properties?.[name]?.default ?? null) === null)
        this.#narrow(inner(name), 'is required now');
  }

  #narrow(path: string, text: string): void {
    if (this.narrowed.length < mostChanges) this.narrowed.push({path, text});
  }
}

const acceptsMore = (schema: JsonSchema): boolean =>
  Boolean(schema['x-kubernetes-preserve-unknown-fields']) || Boolean(schema.additionalProperties);

const ownChanges = function* (before: JsonSchema, now: JsonSchema): Generator<string, void> {
  for (const name of exact)
    if (now[name] !== undefined && before[name] !== now[name])
      yield before[name] === undefined ? `has the ${name} ${now[name]} now` : `has the ${name} ${now[name]} instead of ${before[name]}`;
  for (const name of upper) if (now[name] !== undefined && now[name] < (before[name] ?? Infinity)) yield `has the ${name} ${now[name]} now`;
  for (const name of lower)
    if (now[name] !== undefined && now[name] > (before[name] ?? -Infinity)) yield `has the ${name} ${now[name]} now`;
  for (const name of flags) if (now[name] && !before[name]) yield `has ${name} now`;
  if (before.nullable && !now.nullable) yield 'may no longer be null';
  if (now.enum) {
    const lost = before.enum?.filter(value => !now.enum!.some(each => sameJson(each, value)));
    if (!lost) yield `allows only ${jsonText(now.enum)} now`;
    else if (lost.length > 0) yield `no longer allows ${lost.map(value => jsonText(value)).join(', ')}`;
  }
  if (acceptsMore(before) && !acceptsMore(now)) yield 'no longer keeps fields that are not declared';
  const rules = new Set(before['x-kubernetes-validations']?.map(({rule}) => rule));
  for (const {rule} of now['x-kubernetes-validations'] ?? []) if (!rules.has(rule)) yield `has the new rule ${rule}`;
};
