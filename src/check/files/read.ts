// Reads the objects of files with the lines of their fields. What is wrong with a text is a finding; a file that cannot
// be read is an error.

import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {extname, join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {documentsWithLines, type DocumentWithLines} from '#src/base/yaml/field-lines.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import type {Finding} from '#src/check/findings/finding.js';
import {Manifest, type ManifestObject} from './manifest.js';

export interface ReadManifests {
  readonly manifests: readonly Manifest[];
  readonly findings: readonly Finding[];
}

export interface ReadOptions {
  /** Whether directories below a directory are read too. */
  readonly recursive: boolean;
  /** The text of the file `-`. */
  readonly stdin: () => Promise<string>;
}

const endings = new Set(['.yaml', '.yml', '.json']);
/** The configuration of kustomize is not an API object. */
const isForKustomize = (file: string): boolean => /^kustomization\.ya?ml$/.test(file);
/** The longest text that is read. */
const longestFile = 64 << 20;

/** Reads files, and those of directories by name. Rejects with an error of one line for one that cannot be read. */
export const readManifests = async (paths: readonly string[], {recursive, stdin}: ReadOptions): Promise<ReadManifests> => {
  const manifests: Manifest[] = [];
  const findings: Finding[] = [];
  const read = (file: string, text: string) => {
    for (const found of objectsIn(file, text)) {
      if (found instanceof Manifest) manifests.push(found);
      else findings.push(found);
    }
  };
  for (const path of paths) {
    if (path === '-') read('-', await stdin());
    else for (const file of filesAt(path, recursive)) read(file, textOf(file));
  }
  return {manifests, findings};
};

const about = <T>(path: string, act: () => T): T => {
  try {
    return act();
  } catch (error) {
    throw new Error(`${path}: ${messageOf(error)}`, {cause: error});
  }
};

const filesAt = (path: string, recursive: boolean): string[] => {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file or folder`);
  if (!about(path, () => statSync(path)).isDirectory()) return [path];
  const files = filesUnder(path, recursive);
  if (files.length === 0) throw new Error(`${path}: the folder holds no file that ends in ${[...endings].join(', ')}`);
  return files;
};

const filesUnder = (folder: string, recursive: boolean): string[] =>
  about(folder, () => readdirSync(folder, {withFileTypes: true}))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return recursive ? filesUnder(path, recursive) : [];
      return endings.has(extname(entry.name)) && !isForKustomize(entry.name) ? [path] : [];
    });

const textOf = (file: string): string =>
  about(file, () => {
    if (statSync(file).size > longestFile) throw new Error(`it is longer than ${longestFile >> 20} MiB`);
    return readFileSync(file, 'utf8');
  });

const syntax = (file: string, line: number, message: string): Finding => ({rule: 'syntax', level: 'error', message, file, line});

const objectsIn = function* (file: string, text: string): Generator<Manifest | Finding, void> {
  try {
    for (const document of documentsWithLines(text.replace(/^\uFEFF/, ''))) {
      for (const {key, line} of document.repeated)
        yield {rule: 'repeated-field', level: 'error', message: `the field ${key} is there twice: the last one counts`, file, line};
      yield* itemsOf(file, document.value, '', document);
    }
  } catch (error) {
    const message = messageOf(error);
    yield syntax(file, Number(/\bline (\d+)/.exec(message)?.[1] ?? 1), message);
  }
};

/** The objects of a document; a list is split. */
const itemsOf = function* (file: string, value: unknown, at: string, document: DocumentWithLines): Generator<Manifest | Finding, void> {
  const lineOf = (path: string): number => document.lineOf(at && path ? `${at}.${path}` : at || path);
  if (!isPlainObject(value))
    yield syntax(file, lineOf(''), `an object is expected here, not ${Array.isArray(value) ? 'a list' : typeof value}`);
  else if (typeof value['kind'] === 'string' && value['kind'].endsWith('List') && Array.isArray(value['items']))
    for (const [index, item] of value['items'].entries()) yield* itemsOf(file, item, `${at ? `${at}.` : ''}items[${index}]`, document);
  else {
    const missing = missingField(value);
    if (missing) yield syntax(file, lineOf(missing), `${missing} is missing, or no text`);
    else yield new Manifest(file, value as unknown as ManifestObject, lineOf);
  }
};

const missingField = ({apiVersion, kind, metadata}: PlainObject): string | undefined => {
  if (!isText(apiVersion)) return 'apiVersion';
  if (!isText(kind)) return 'kind';
  if (!isPlainObject(metadata) || (!isText(metadata['name']) && !isText(metadata['generateName']))) return 'metadata.name';
  return metadata['namespace'] === undefined || typeof metadata['namespace'] === 'string' ? undefined : 'metadata.namespace';
};

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
