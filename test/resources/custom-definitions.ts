// Custom resource definitions for tests, valid but for what they are given.
import {kinds} from '#src/api/kinds/index.js';
import type {Given} from './rule-table.js';

export const kind = kinds.customResourceDefinitions;

export const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

export const at = (path: string, texts: readonly string[]): string[] => texts.map(text => `${path}${text}`);

let count = 0;
export const plain = {type: 'object'};
export const version = (more: object = {}) => ({name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: plain}, ...more});

/** A valid definition with the given fields; each has a name of its own. */
export const a = (spec: Record<string, unknown> = {}, metadata: object = {}): Given => {
  const plural = `things${count++}`;
  const {names, group = 'example.com', ...rest} = spec;
  const all = {plural, kind: `Thing${count}`, ...(names as object | undefined)};
  return {
    metadata: {name: `${all.plural}.${group as string}`, ...metadata},
    spec: {group, scope: 'Namespaced', versions: [version()], ...rest, names: all},
  };
};

export const versions = (...list: object[]): Given => a({versions: list});
export const schema = (openAPIV3Schema: object, more: object = {}): Given => versions(version({schema: {openAPIV3Schema}, ...more}));
/** A schema with one property, `p`. */
export const property = (p: object, more: object = {}): Given => schema({type: 'object', properties: {p}, ...more});

export const root = 'spec.validation.openAPIV3Schema';
export const p = `${root}.properties[p]`;
export const list = (items: object, more: object = {}) => ({type: 'array', items, ...more});
export const fixed = (n: number, spec: object = {}): Given => a({names: {plural: `fixed${n}`, kind: 'Fixed'}, ...spec});
export const specOf = (given: Given): object => given['spec'] as object;

export const texts = (more: object = {}) => ({type: 'array', items: {type: 'string'}, ...more});
