import {equalMaps} from '#src/cel/compare.js';
import {declare, overload, type Library, type TypeSource} from '#src/cel/declarations.js';
import {dyn, objectType, string, type Type} from '#src/cel/types.js';
import {Failure, MapValue, typeOfValue, type Value} from '#src/cel/values.js';

/** The type of a change as JSON Patch has it, and that of objects of which only what changes is said. */
export const jsonPatchType = objectType('JSONPatch');
export const appliedType = objectType('Object');

const texts: ReadonlySet<string> = new Set(['op', 'path', 'from']);

/** An object that an expression made of a type by its name. */
export class MadeObject extends MapValue {
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
    return other instanceof MadeObject && this.type.name === other.type.name && equalMaps(this, other) === true;
  }
}

const jsonPatch = (fields: ReadonlyMap<string, Value>): Value => {
  for (const [name, value] of fields) {
    if (texts.has(name) && typeof value !== 'string') return new Failure(`unexpected type ${typeOfValue(value).name} for JSONPatchType '${name}' field`);
  }
  return new MadeObject(jsonPatchType, fields);
};

const isApplied = (name: string): boolean => name === appliedType.name || name.startsWith(`${appliedType.name}.`);

/** `JSONPatch{op: "add", path: "/a", value: 1}`, and `Object{spec: Object.spec{...}}` with any fields. */
export const patchTypes: TypeSource = {
  find: name => (name === jsonPatchType.name || isApplied(name) ? objectType(name) : undefined),
  field(type, field) {
    if (isApplied(type)) return dyn;
    if (texts.has(field)) return string;
    return field === 'value' ? dyn : undefined;
  },
  create: (type, fields) => (isApplied(type) ? new MadeObject(objectType(type), fields) : jsonPatch(fields)),
};

/** Where the name of the type of an object is not that of the place it stands at: `Object.spec` stands at `spec` of an `Object`. Lists and maps have no names. */
export const misnamed = (value: Value, place = appliedType.name): string[] => {
  if (value instanceof MadeObject) {
    const {name} = value.type;
    const own = name === place ? [] : [`unexpected type name "${name}", expected "${place}", which matches field name path from root Object type`];
    return [...own, ...[...value.fields].flatMap(([field, inner]) => misnamed(inner, `${place}.${field}`))];
  }
  if (value instanceof MapValue) return [...value.keys()].flatMap(key => misnamed(value.find(key)!, place));
  return typeof value === 'object' && value !== null && Symbol.iterator in value ? [...(value as Iterable<Value>)].flatMap(inner => misnamed(inner, place)) : [];
};

const escapeKey = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** What helps to write changes. */
export const jsonPatches: Library = {
  name: 'kubernetes.jsonpatch',
  functions: [declare('jsonpatch.escapeKey', overload('string_jsonpatch_escapeKey_string', [string], string, escapeKey))],
};
