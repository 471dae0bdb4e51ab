// The types `JSONPatch` and `Object` of mutating admission policies, and the functions on patches. Patches are only
// constructed here; admission applies them.

import {equalMaps} from '#src/cel/values/compare.js';
import {declare, overload, type Library, type TypeSource} from '#src/cel/check/declarations.js';
import {dyn, objectType, string, type Type} from '#src/cel/values/types.js';
import {Failure, MapValue, typeOfValue, type Value} from '#src/cel/values/values.js';

/** The types of JSON Patch operations and of apply configurations. */
export const jsonPatchType = objectType('JSONPatch');
export const appliedType = objectType('Object');

const stringFields: ReadonlySet<string> = new Set(['op', 'path', 'from']);

/** An object that an expression constructed by a type name. */
export class ConstructedObject extends MapValue {
  readonly type: Type;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(type: Type, fields: ReadonlyMap<string, Value>) {
    super();
    this.type = type;
    this.fields = fields;
  }

  get size(): number {
    return this.fields.size;
  }

  find(key: Value): Value | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined;
  }

  keys(): Iterable<Value> {
    return this.fields.keys();
  }

  equals(other: Value): Value {
    return other instanceof ConstructedObject && this.type.name === other.type.name && equalMaps(this, other) === true;
  }
}

const jsonPatch = (fields: ReadonlyMap<string, Value>): Value => {
  for (const [name, value] of fields) {
    if (stringFields.has(name) && typeof value !== 'string')
      return new Failure(`unexpected type ${typeOfValue(value).name} for JSONPatchType '${name}' field`);
  }
  return new ConstructedObject(jsonPatchType, fields);
};

const isApplyType = (name: string): boolean => name === appliedType.name || name.startsWith(`${appliedType.name}.`);

/** Resolves `JSONPatch{op: "add", path: "/a", value: 1}` and `Object{spec: Object.spec{...}}` with any fields. */
export const patchTypes: TypeSource = {
  find: name => (name === jsonPatchType.name || isApplyType(name) ? objectType(name) : undefined),
  field(type, field) {
    if (isApplyType(type)) return dyn;
    if (stringFields.has(field)) return string;
    return field === 'value' ? dyn : undefined;
  },
  create: (type, fields) => (isApplyType(type) ? new ConstructedObject(objectType(type), fields) : jsonPatch(fields)),
};

/**
 * Returns an error for each object whose type name differs from its path: `Object.spec` is expected at `spec` of an
 * `Object`. Lists and maps add nothing to the path.
 */
export const typeNameErrors = (value: Value, place = appliedType.name): string[] => {
  if (value instanceof ConstructedObject) {
    const {name} = value.type;
    const own =
      name === place ? [] : [`unexpected type name "${name}", expected "${place}", which matches field name path from root Object type`];
    return [...own, ...[...value.fields].flatMap(([field, inner]) => typeNameErrors(inner, `${place}.${field}`))];
  }
  if (value instanceof MapValue) return [...value.keys()].flatMap(key => typeNameErrors(value.find(key)!, place));
  return typeof value === 'object' && value !== null && Symbol.iterator in value
    ? [...(value as Iterable<Value>)].flatMap(inner => typeNameErrors(inner, place))
    : [];
};

const escapeKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The library for JSON patches. */
export const jsonPatches: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [declare('jsonpatch.escapeKey', overload('string_jsonpatch_escapeKey_string', [string], string, escapeKey))],
};
