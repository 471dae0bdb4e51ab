// Decodes a configuration file. Unknown and repeated fields are told of, and do no harm; values of wrong types do.

import type {Naming} from '#src/api/naming.js';
import {parseDuration} from '#src/api/duration.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {strictDecodingText, type DecodeProblem} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {fieldRows, type FieldRow, type FieldTypes} from './fields.js';

/** Returns the kind of a proxy's configuration. */
export const configurationKind = (naming: Naming): {readonly apiVersion: string; readonly kind: string} => ({
  apiVersion: `${groupName(naming)}/v1alpha1`,
  kind: kindOf(naming),
});

/** Returns the group of the configuration, which is also its name on `/configz`. */
export const groupName = (naming: Naming): string => `${naming.prefix}proxy.${naming.group('config')}`;

const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
const kindOf = ({prefix}: Naming): string => `${capitalized(prefix)}ProxyConfiguration`;

export interface Decoded {
  readonly naming: Naming;
  /** Without apiVersion and kind. */
  readonly object: PlainObject;
  /** What a strict decoding would refuse. */
  readonly problem: string | undefined;
}

/** Decodes a file of one of the namings. Throws errors with the original's texts. */
export const decodeConfiguration = (text: string, namings: readonly Naming[]): Decoded => {
  const {value, problems} = parseYaml(text);
  const {apiVersion, kind, ...object} = isPlainObject(value) ? value : {};
  for (const [name, given] of [
    ['Kind', kind],
    ['apiVersion', apiVersion],
  ] as const)
    if (!given) throw new Error(`Object '${name}' is missing in '${text}'`);
  const naming = namings.find(each => apiVersion === configurationKind(each).apiVersion && kind === kindOf(each));
  if (!naming) throw new Error(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`);
  checkTypes(object, naming);
  const unknown = unknownFields(object).map((path): DecodeProblem => ({
    kind: 'unknown',
    path,
    text: `unknown field ${JSON.stringify(path)}`,
  }));
  const all = [...problems, ...unknown];
  return {naming, object, problem: all.length > 0 ? strictDecodingText(all) : undefined};
};

const rows: ReadonlyMap<string, FieldRow> = new Map(fieldRows);

/** The names of the fields that have nested fields, with those of their types. */
const structs: ReadonlyMap<string, (kind: string) => string> = new Map<string, (kind: string) => string>([
  ['clientConnection', () => 'ClientConnectionConfiguration'],
  ['logging', () => 'LoggingConfiguration'],
  ['logging.options', () => 'FormatOptions'],
  ['logging.options.text', () => 'TextOptions'],
  ['logging.options.json', () => 'JSONOptions'],
  ['iptables', kind => kind.replace(/Configuration$/, 'IPTablesConfiguration')],
  ['ipvs', kind => kind.replace(/Configuration$/, 'IPVSConfiguration')],
  ['nftables', kind => kind.replace(/Configuration$/, 'NFTablesConfiguration')],
  ['winkernel', kind => kind.replace(/Configuration$/, 'WinkernelConfiguration')],
  ['detectLocal', () => 'DetectLocalConfiguration'],
  ['conntrack', kind => kind.replace(/Configuration$/, 'ConntrackConfiguration')],
]);

const unknownFields = (object: PlainObject, path = ''): string[] =>
  Object.entries(object).flatMap(([name, value]) => {
    const full = `${path}${name}`;
    if (rows.has(full)) return [];
    return structs.has(full) ? (isPlainObject(value) ? unknownFields(value, `${full}.`) : []) : [full];
  });

/** Returns the value of a field by its path; undefined if it is not set. */
export const fieldAt = (object: PlainObject, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isPlainObject(value) ? value[name] : undefined), object) ?? undefined;

const jsonType = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value === 'object' ? 'object' : typeof value;

const goTypes: Readonly<Record<keyof FieldTypes, string>> = {
  bool: 'bool',
  int: 'int32',
  float: 'float32',
  string: 'string',
  duration: 'string',
  interval: 'string',
  strings: '[]string',
  bools: 'map[string]bool',
  modules: 'v1.VModuleConfiguration',
};

const isString = (value: unknown): boolean => typeof value === 'string';

/** Whether a value has the type of its field, and the type that is wanted where an item has not. */
const mismatchOf = (value: unknown, type: keyof FieldTypes): readonly [given: unknown, wanted: string] | undefined => {
  const wrong = (given: unknown, wanted = goTypes[type]) => [given, wanted] as const;
  switch (type) {
    case 'bool':
      return typeof value === 'boolean' ? undefined : wrong(value);
    case 'int':
      return Number.isInteger(value) && Math.abs(value as number) <= 2 ** 31 ? undefined : wrong(value);
    case 'float':
      return typeof value === 'number' ? undefined : wrong(value);
    case 'string':
    case 'duration':
      return isString(value) ? undefined : wrong(value);
    case 'interval':
      return isString(value) || Number.isInteger(value) ? undefined : wrong(value);
    case 'strings':
      if (!Array.isArray(value)) return wrong(value);
      return value.every(isString)
        ? undefined
        : wrong(
            value.find(each => !isString(each)),
            'string',
          );
    case 'bools': {
      if (!isPlainObject(value)) return wrong(value);
      const item = Object.values(value).find(each => typeof each !== 'boolean');
      return item === undefined ? undefined : wrong(item, 'bool');
    }
    case 'modules':
      return Array.isArray(value) && value.every(isPlainObject) ? undefined : wrong(value);
  }
};

/** Throws for the first value of a wrong type. */
const checkTypes = (object: PlainObject, naming: Naming): void => {
  const kind = kindOf(naming);
  const refuse = (value: unknown, parent: string, path: string, wanted: string): never => {
    const struct = structs.get(parent)?.(kind) ?? kind;
    throw new Error(`json: cannot unmarshal ${jsonType(value)} into Go struct field ${struct}.${path} of type ${wanted}`);
  };
  const parentOf = (path: string): string => path.split('.').slice(0, -1).join('.');
  for (const [path, struct] of structs) {
    const value = fieldAt(object, path);
    if (value !== undefined && !isPlainObject(value)) refuse(value, parentOf(path), path, `v1alpha1.${struct(kind)}`);
  }
  for (const [path, {type}] of fieldRows) {
    const value = fieldAt(object, path);
    if (value === undefined) continue;
    const mismatch = mismatchOf(value, type);
    if (mismatch) refuse(mismatch[0], parentOf(path), path, mismatch[1]);
    if ((type === 'duration' || type === 'interval') && typeof value === 'string' && parseDuration(value) === undefined)
      throw new Error(`time: invalid duration ${JSON.stringify(value)}`);
  }
};
