// Reads the objects of manifests from files, directories and values, each with its location for messages. Nothing is
// sent to a server.

import {existsSync, readdirSync, readFileSync, statSync} from 'node:fs';
import {extname, join} from 'node:path';
import type {KubeObject} from '#src/api/types.js';
import {messageOf} from '#src/base/message.js';
import {parseBody} from '#src/schema/decode/document.js';
import {strictDecodingText} from '#src/schema/decode/error.js';
import {isPlainObject} from '#src/schema/decode/plain.js';

/** An object to apply, or the path of a file of them (YAML or JSON), or of a directory of such files. */
export type Manifest = string | KubeObject | Readonly<Record<string, unknown>>;

/** An object that can be applied: it has apiVersion, kind and name. */
export type NamedObject = KubeObject & {readonly apiVersion: string; readonly kind: string; readonly metadata: {readonly name: string}};

/** An object and its source. */
export interface Document {
  /** File, document and object, for messages. */
  readonly place: string;
  /** The file; undefined for an object that was given as one. */
  readonly file: string | undefined;
  readonly object: NamedObject;
}

interface Found {
  readonly place: string;
  readonly file: string | undefined;
  readonly value: unknown;
}

const endings = new Set(['.yaml', '.yml', '.json']);
/** The configuration of kustomize is not an API object. */
const isForKustomize = (file: string): boolean => /^kustomization\.ya?ml$/.test(file);

/**
 * Returns all objects of the manifests, in the order written; lists are split. Of a directory its files are read, by
 * name, without subdirectories. Throws an error of one line that names the file, the document and the field.
 */
export const readManifests = (manifests: readonly Manifest[]): Document[] =>
  manifests
    .flatMap((manifest, index) =>
      typeof manifest === 'string' ? foundAt(manifest) : [{place: `manifests[${index}]`, file: undefined, value: manifest}],
    )
    .flatMap(itemsOf)
    .map(named);

const foundAt = (path: string): Found[] => {
  if (!existsSync(path)) throw new Error(`${path}: there is no such file or folder`);
  if (!withPlace(path, () => statSync(path)).isDirectory()) return foundIn(path);
  const files = withPlace(path, () => readdirSync(path)).filter(file => endings.has(extname(file)) && !isForKustomize(file));
  if (files.length === 0) throw new Error(`${path}: the folder holds no file that ends in ${[...endings].join(', ')}`);
  return files.sort().flatMap(file => foundIn(join(path, file)));
};

/** Returns the objects of the text of a file, as `readManifests` does. */
export const manifestsOfText = (text: string, file: string): Document[] => foundInText(text, file).flatMap(itemsOf).map(named);

const foundIn = (file: string): Found[] =>
  foundInText(
    withPlace(file, () => readFileSync(file, 'utf8')),
    file,
  );

const foundInText = (content: string, file: string): Found[] => {
  const text = content.replace(/^\uFEFF/, '');
  const parts = extname(file) === '.json' ? [text] : documentsOf(text);
  return parts.flatMap((part, index) => {
    const place = parts.length > 1 ? `${file}, document ${index + 1}` : file;
    const value = withPlace(place, () => valueOf(part, extname(file) === '.json' ? 'json' : 'yaml'));
    return Object.keys(value).length > 0 ? [{place, file, value}] : []; // Nothing but comments.
  });
};

/** The documents of a text. Each is padded with empty lines, so that line numbers count from the top of the file. */
const documentsOf = (text: string): string[] => {
  const documents = [''];
  for (const [line, content] of text.split('\n').entries()) {
    if (/^---\s*(#.*)?$/.test(content)) documents.push('\n'.repeat(line + 1));
    else documents[documents.length - 1] += `${content}\n`;
  }
  return documents.filter(document => /^\s*[^\s#]/m.test(document));
};

const valueOf = (text: string, notation: 'json' | 'yaml'): object => {
  const {value, problems} = parseBody(text, notation);
  if (problems.length > 0) throw new Error(strictDecodingText(problems));
  return value as object;
};

/** Splits a list into its objects. */
const itemsOf = ({place, file, value}: Found): Found[] =>
  isPlainObject(value) && typeof value['kind'] === 'string' && value['kind'].endsWith('List') && Array.isArray(value['items'])
    ? value['items'].flatMap((item: unknown, index) => itemsOf({place: `${place}, items[${index}]`, file, value: item}))
    : [{place, file, value}];

const named = ({place, file, value}: Found): Document => {
  if (!isPlainObject(value)) throw new Error(`${place}: must be an object, not ${value === null ? 'null' : typeof value}`);
  const object: KubeObject = value;
  const {apiVersion, kind, metadata} = object;
  const missing = isNonEmptyText(apiVersion)
    ? isNonEmptyText(kind)
      ? isNonEmptyText(metadata?.name)
        ? undefined
        : 'metadata.name'
      : 'kind'
    : 'apiVersion';
  if (missing) throw new Error(`${place}: ${missing} is missing`);
  const name = [metadata?.namespace, metadata?.name].filter(isNonEmptyText).join('/');
  return {place: `${place} (${kind} ${name})`, file, object: object as NamedObject};
};

const isNonEmptyText = (text: unknown): text is string => typeof text === 'string' && text !== '';

const withPlace = <T>(place: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw failureAt(place, error);
  }
};

/** An error of one line with its location. */
export const failureAt = (place: string, error: unknown): Error =>
  new Error(`${place}: ${messageOf(error).replaceAll(/\s*\n\s*/g, ' ')}`, {cause: error});
