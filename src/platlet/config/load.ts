// Reads the agent's configuration: the file, the drop-in files over it, and the flags over both.

import {readdir} from 'node:fs/promises';
import {dirname, isAbsolute, join, resolve} from 'node:path';
import {parseDuration} from '#src/api/duration.js';
import type {Naming} from '#src/api/naming.js';
import type {Files} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {applyMergePatch} from '#src/schema/patch/merge-patch.js';
import {strictDecodingText, type DecodeProblem} from '#src/schema/decode/error.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {fieldRows, type FieldName, type FieldRow, type FieldTypes, type Settings} from './fields.js';
import {hasEffect, settingsOfFlags, valueOf, type PlatletOptions} from './settings.js';

export interface LoadParts {
  readonly options: PlatletOptions;
  /** The flags on the command line. */
  readonly set: ReadonlySet<string>;
  /** The namings that files may use. */
  readonly namings: readonly Naming[];
  readonly files: Pick<Files, 'read'>;
}

/** The hard eviction thresholds if no file sets any. */
const defaultEviction: Readonly<Record<string, string>> = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

/** Adds the usual thresholds to a file that names none, or that asks for those that it does not name. */
const withEviction = (object: PlainObject): PlainObject => {
  const {evictionHard: given, mergeDefaultEvictionSettings: isMerged} = object;
  if (given !== undefined && given !== null && isMerged !== true) return object;
  return {...object, evictionHard: {...defaultEviction, ...(isPlainObject(given) ? given : {})}};
};

/** Returns the kind of the agent's configuration. */
export const configurationKind = (naming: Naming): {readonly apiVersion: string; readonly kind: string} => ({
  apiVersion: groupOf(naming),
  kind: kindOf(naming),
});

const kindOf = ({agent}: Naming): string => `${agent.charAt(0).toUpperCase()}${agent.slice(1)}Configuration`;
const groupOf = (naming: Naming): string => `${naming.agent}.config.${naming.apiSuffix}/v1beta1`;

/** The configuration of an agent. */
export interface LoadedSettings {
  /** The settings in effect: those of files, overridden by flags. */
  readonly settings: Settings;
  /** The naming of the configuration file; undefined without one. */
  readonly naming: Naming | undefined;
  /** The fields that files set and that have no effect here. */
  readonly withoutEffect: readonly FieldName[];
}

/** Returns the configuration in effect. Rejects with a one-line error that names the file. */
export const loadSettings = async (parts: LoadParts): Promise<LoadedSettings> => {
  const {options, set} = parts;
  const base = options.config ? await baseOf(parts, options.config) : undefined;
  const merged = options.configDir ? await withDropIns(parts, options.configDir, base?.object ?? {}) : base?.object;
  if (!merged) return {settings: settingsOfFlags(options, set), naming: undefined, withoutEffect: []};
  const given = fieldsOf(merged);
  return {
    naming: base?.naming,
    settings: settingsOfFlags(options, set, {...given, ...derived(given)}, true),
    withoutEffect: fieldRows.flatMap(([name, row]) => (hasEffect(row) || !(name in given) ? [] : [name])),
  };
};

interface Decoded {
  readonly naming: Naming;
  /** Without apiVersion and kind. */
  readonly object: PlainObject;
}

const baseOf = async (parts: LoadParts, given: string): Promise<Decoded> => {
  const path = resolve(given);
  try {
    const text = await contentOf(parts.files, path);
    const {naming, object} = decoded(text, parts.namings);
    return {naming, object: withEviction(withAbsolutePaths(object, dirname(path)))};
  } catch (cause) {
    throw new Error(`failed to load ${parts.namings[0]?.agent} config file, path: ${path}, error: ${messageOf(cause)}`, {cause});
  }
};

const contentOf = async (files: Pick<Files, 'read'>, path: string): Promise<string> => {
  const content = await files.read(path);
  if (!content) throw new Error(`failed to read ${path}, error: open ${path}: no such file or directory`);
  if (content.length === 0) throw new Error(`${path} was empty`);
  return content.toString();
};

const withDropIns = async (parts: LoadParts, folder: string, base: PlainObject): Promise<PlainObject> => {
  const {namings, files} = parts;
  const agent = namings[0]?.agent;
  const failed = (what: string, cause: unknown): Error =>
    new Error(`failed to merge ${agent} configs: ${what}${cause === undefined ? '' : `: ${messageOf(cause)}`}`, {cause});
  const paths = await confFiles(folder).catch((error: unknown) => {
    throw failed(`failed to walk through ${agent} dropin directory ${JSON.stringify(folder)}`, error);
  });
  let merged = base;
  for (const path of paths) {
    const of = `failed to load ${agent} dropin file, path: ${path}`;
    try {
      const {object} = decoded((await contentOf(files, path)) || '{}', namings);
      merged = applyMergePatch(merged, withAbsolutePaths(object, dirname(path)));
    } catch (error) {
      throw failed(`${of}, error`, error);
    }
  }
  checkFields(merged);
  return merged;
};

/** Returns the paths of all files below a directory whose names end in `.conf`, in lexical order. */
const confFiles = async (folder: string): Promise<string[]> => {
  const found: string[] = [];
  const entries = await readdir(folder, {withFileTypes: true});
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await confFiles(path)));
    else if (entry.name.endsWith('.conf')) found.push(path);
  }
  return found;
};

/** Parses a file strictly: unknown and repeated fields are errors. */
const decoded = (text: string, namings: readonly Naming[]): Decoded => {
  const {value, problems} = parseYaml(text);
  if (!isPlainObject(value)) throw new Error('the file is no object');
  const {apiVersion, kind, ...object} = value;
  if (!apiVersion || !kind) throw new Error('no apiVersion/kind');
  const naming = namings.find(each => apiVersion === groupOf(each) && kind === kindOf(each));
  if (!naming) throw new Error(`unknown apiVersion/kind: ${String(apiVersion)}, Kind=${String(kind)}`);
  const unknown = unknownFields(object);
  const all: DecodeProblem[] = [
    ...problems,
    ...unknown.map((path): DecodeProblem => ({kind: 'unknown', path, text: `unknown field ${JSON.stringify(path)}`})),
  ];
  if (all.length > 0) throw new Error(strictDecodingText(all));
  checkFields(object);
  return {naming, object};
};

/** The names of the fields that have nested fields. */
const parents: ReadonlySet<string> = new Set(
  fieldRows.flatMap(([name]) => {
    const parts = name.split('.');
    return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('.'));
  }),
);
const rows: ReadonlyMap<string, FieldRow> = new Map(fieldRows);

const unknownFields = (object: PlainObject, path = ''): string[] =>
  Object.entries(object).flatMap(([name, value]) => {
    const full = `${path}${name}`;
    if (rows.has(full)) return [];
    return parents.has(full) && isPlainObject(value) ? unknownFields(value, `${full}.`) : parents.has(full) ? [] : [full];
  });

const at = (object: PlainObject, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (isPlainObject(value) ? value[name] : undefined), object);

const isOfType: Readonly<Record<FieldRow['type'], (value: unknown) => boolean>> = {
  bool: value => typeof value === 'boolean',
  maybe: value => typeof value === 'boolean',
  int: value => Number.isInteger(value),
  float: value => typeof value === 'number',
  string: value => typeof value === 'string',
  duration: value => typeof value === 'string' && parseDuration(value) !== undefined,
  interval: value => Number.isInteger(value) || (typeof value === 'string' && parseDuration(value) !== undefined),
  strings: value => Array.isArray(value) && value.every(item => typeof item === 'string'),
  // Null removes an entry.
  map: value => isPlainObject(value) && Object.values(value).every(item => item === null || typeof item === 'string'),
  multimap: value => isPlainObject(value) && Object.values(value).every(item => Array.isArray(item)),
  bools: value => isPlainObject(value) && Object.values(value).every(item => typeof item === 'boolean'),
  objects: value => Array.isArray(value) && value.every(isPlainObject),
  object: value => isPlainObject(value),
};

const typeNames: Readonly<Record<FieldRow['type'], string>> = {
  bool: 'a boolean',
  maybe: 'a boolean',
  int: 'a whole number',
  float: 'a number',
  string: 'a string',
  duration: 'a duration such as 1m30s',
  interval: 'a duration such as 5s, or a number of nanoseconds',
  strings: 'a list of strings',
  map: 'a map of strings',
  multimap: 'a map of lists',
  bools: 'a map of booleans',
  objects: 'a list of objects',
  object: 'an object',
};

/** Throws for a field of a wrong type. */
const checkFields = (object: PlainObject): void => {
  for (const [name, {type}] of fieldRows) {
    const value = at(object, name);
    if (value !== undefined && value !== null && !isOfType[type](value)) throw new Error(`the field ${name} must be ${typeNames[type]}`);
  }
};

/** Relative paths in a file are relative to its directory. */
const withAbsolutePaths = (object: PlainObject, folder: string): PlainObject => {
  let result = object;
  for (const [name, {isPath}] of fieldRows) {
    const value = at(object, name);
    if (!isPath || typeof value !== 'string' || value === '' || isAbsolute(value)) continue;
    const patch = name.split('.').reduceRight<unknown>((inner, part) => ({[part]: inner}), join(folder, value));
    result = applyMergePatch(result, patch as PlainObject);
  }
  return result;
};

/** Whether a value is the zero value of its type. The text `0` is that of a duration alone: it may name a CPU. */
const isZero = (value: unknown, type: keyof FieldTypes): boolean =>
  value === 0 ||
  value === '' ||
  value === false ||
  ((type === 'duration' || type === 'interval') && typeof value === 'string' && /^0(s|ms|m|h)?$/.test(value));

/** Returns the fields that files have set. The zero value means the default where a field cannot be zero. */
const fieldsOf = (object: PlainObject): Partial<Settings> => {
  const found: Record<string, unknown> = {};
  for (const [name, row] of fieldRows) {
    const value = at(object, name);
    if (value === undefined || value === null || (!row.keepsZero && isZero(value, row.type))) continue;
    found[name] = valueOf(row, value);
  }
  return found;
};

/** Defaults that depend on other fields. */
const derived = (given: Partial<Settings>): Partial<Settings> => {
  const {nodeStatusUpdateFrequency, nodeStatusReportFrequency, maxParallelImagePulls = 0, serializeImagePulls} = given;
  return {
    ...(nodeStatusReportFrequency === undefined && nodeStatusUpdateFrequency !== undefined
      ? {nodeStatusReportFrequency: nodeStatusUpdateFrequency}
      : {}),
    ...(serializeImagePulls === undefined && maxParallelImagePulls >= 2 ? {serializeImagePulls: false} : {}),
  };
};
