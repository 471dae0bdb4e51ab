// The configuration file of `plat up`, decoded strictly into the flags that it stands for.

import {dirname, resolve} from 'node:path';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import {closest} from '#src/base/text/closest.js';
import {objectWithLines} from '#src/base/yaml/object-lines.js';
import type {Assignment} from '#src/options/grammar.js';
import {OptionError} from '#src/options/option-error.js';
import {planeConfigurationKind, planeFields, type PlaneField} from '#src/options/programs/plane-configuration.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

/** The maximum size of the file. */
const maxBytes = 1 << 20;

/** Reads the configuration file of `--config`. Throws an `OptionError` that names the file, the line and the field. */
export const readConfiguration = async (path: string): Promise<readonly Assignment[]> => {
  try {
    const content = await systemFiles.read(path);
    if (!content) throw new Error('there is no such file');
    if (content.length > maxBytes) throw new Error(`it is larger than ${maxBytes} bytes`);
    return decodeConfiguration(content.toString(), dirname(resolve(path)));
  } catch (cause) {
    throw new OptionError(`--config: ${path}: ${messageOf(cause)}`, {cause});
  }
};

/** Returns the flags that a configuration file stands for. Paths are relative to `folder`. */
export const decodeConfiguration = (text: string, folder: string): readonly Assignment[] => {
  const {value, lineOf: numberOf} = objectWithLines(text);
  if (!isPlainObject(value)) throw new Error('it holds no object');
  const lineOf = (field: string): string => {
    const line = numberOf(field);
    return line === undefined ? '' : `line ${line}: `;
  };
  for (const [field, expected] of Object.entries(planeConfigurationKind))
    if (value[field] !== expected) throw new Error(`${lineOf(field)}${field} must be ${expected}, not ${shown(value[field])}`);
  return Object.entries(value).flatMap(([name, given]) => {
    if (Object.hasOwn(planeConfigurationKind, name)) return [];
    if (!Object.hasOwn(planeFields, name)) throw new Error(`${lineOf(name)}${unknownField(name)}`);
    if (given === null) return [];
    const field: PlaneField = planeFields[name as keyof typeof planeFields];
    const texts = readers[field.type](given, folder);
    if (texts === undefined) throw new Error(`${lineOf(name)}${name} must be ${wanted[field.type]}, not ${shown(given)}`);
    return texts.map(each => ({flag: field.flag, text: each}));
  });
};

const unknownField = (name: string): string => {
  const similar = closest(name, Object.keys(planeFields));
  return `there is no field ${JSON.stringify(name.slice(0, 100))}: ${similar === undefined ? 'docs/plane.schema.json lists the fields' : `did you mean ${similar}?`}`;
};

const shown = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 60));

/** Returns the texts of a value, one a flag; undefined for a value of another type. */
type Reader = (value: unknown, folder: string) => readonly string[] | undefined;

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every(each => typeof each === 'string' && each !== '');

const pathIn = (folder: string, path: string): string => (path === '' || path === '-' ? path : resolve(folder, path));

const readers: Readonly<Record<PlaneField['type'], Reader>> = {
  string: value => (typeof value === 'string' ? [value] : undefined),
  path: (value, folder) => (typeof value === 'string' ? [pathIn(folder, value)] : undefined),
  integer: value => (Number.isSafeInteger(value) ? [String(value)] : undefined),
  boolean: value => (typeof value === 'boolean' ? [String(value)] : undefined),
  strings: value => (isTexts(value) ? value : undefined),
  paths: (value, folder) => (isTexts(value) ? value.map(each => pathIn(folder, each)) : undefined),
  arguments: value => (isTexts(value) && value.every(each => each.startsWith('--')) ? value : undefined),
  switches: value =>
    isPlainObject(value) && Object.values(value).every(each => typeof each === 'boolean')
      ? Object.entries(value).map(([name, on]) => `${name}=${String(on)}`)
      : undefined,
};

const wanted: Readonly<Record<PlaneField['type'], string>> = {
  string: 'a string',
  path: 'a path',
  integer: 'a whole number',
  boolean: 'true or false',
  strings: 'a list of strings',
  paths: 'a list of paths',
  arguments: 'a list of flags such as "--v=2"',
  switches: 'an object of names with true or false',
};
