// The configuration of credential providers: a file, or the files of a directory merged in the order of their names
// (`CredentialProviderConfig`).

import {createHash} from 'node:crypto';
import {parseDuration} from '#src/api/duration.js';
import type {FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import {strictDecodingText, type DecodeProblem} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import type {CredentialProvider, TokenAttributes} from './credential-provider.js';
import {configurationErrors} from './validation.js';

export interface ProviderConfiguration {
  readonly providers: readonly CredentialProvider[];
  /** The digest of the content of all files, `sha256:…`. */
  readonly hash: string;
}

/** A configuration file. */
export interface ConfigurationFile {
  readonly path: string;
  readonly content: Buffer;
}

type FieldType = 'string' | 'boolean' | 'strings' | 'objects' | 'object' | 'duration';

const isOfType: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  string: value => typeof value === 'string',
  boolean: value => typeof value === 'boolean',
  strings: value => Array.isArray(value) && value.every(item => typeof item === 'string'),
  objects: value => Array.isArray(value) && value.every(isPlainObject),
  object: isPlainObject,
  duration: value => typeof value === 'string' && parseDuration(value) !== undefined,
};

const fieldTypes = {
  configuration: {apiVersion: 'string', kind: 'string', providers: 'objects'},
  provider: {
    name: 'string',
    matchImages: 'strings',
    defaultCacheDuration: 'duration',
    apiVersion: 'string',
    args: 'strings',
    env: 'objects',
    tokenAttributes: 'object',
  },
  variable: {name: 'string', value: 'string'},
  tokenAttributes: {
    serviceAccountTokenAudience: 'string',
    cacheType: 'string',
    requireServiceAccount: 'boolean',
    requiredServiceAccountAnnotationKeys: 'strings',
    optionalServiceAccountAnnotationKeys: 'strings',
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldType>>>>;

/** Returns the problems of an object's fields. Throws for a value of a wrong type. */
const fieldProblems = (object: PlainObject, types: Readonly<Record<string, FieldType>>, path: string): DecodeProblem[] =>
  Object.entries(object).flatMap(([name, value]): DecodeProblem[] => {
    const full = `${path}${name}`;
    const type = Object.hasOwn(types, name) ? types[name] : undefined;
    if (!type) return [{kind: 'unknown', path: full, text: `unknown field ${JSON.stringify(full)}`}];
    if (value !== null && value !== undefined && !isOfType[type](value)) throw new Error(`the field ${full} must be of the type ${type}`);
    return [];
  });

/** A provider in a file. */
interface RawProvider extends PlainObject {
  readonly name?: string;
  readonly matchImages?: readonly string[];
  readonly defaultCacheDuration?: string;
  readonly apiVersion?: string;
  readonly args?: readonly string[];
  readonly env?: readonly PlainObject[];
  readonly tokenAttributes?: PlainObject & Partial<TokenAttributes>;
}

const providerOf = (raw: RawProvider): CredentialProvider => ({
  name: raw.name ?? '',
  matchImages: raw.matchImages ?? [],
  defaultCacheDuration: raw.defaultCacheDuration === undefined ? undefined : parseDuration(raw.defaultCacheDuration),
  apiVersion: raw.apiVersion ?? '',
  args: raw.args ?? [],
  env: (raw.env ?? []).map(({name = '', value = ''}) => ({name: String(name), value: String(value)})),
  tokenAttributes: raw.tokenAttributes && {
    serviceAccountTokenAudience: raw.tokenAttributes.serviceAccountTokenAudience ?? '',
    cacheType: raw.tokenAttributes.cacheType ?? '',
    requireServiceAccount: raw.tokenAttributes.requireServiceAccount,
    requiredServiceAccountAnnotationKeys: raw.tokenAttributes.requiredServiceAccountAnnotationKeys ?? [],
    optionalServiceAccountAnnotationKeys: raw.tokenAttributes.optionalServiceAccountAnnotationKeys ?? [],
  },
});

const kind = 'CredentialProviderConfig';

/** Decodes a file strictly. Throws with an error of one line. */
const decoded = (text: string, namings: readonly Naming[]): readonly CredentialProvider[] => {
  const {value, problems} = parseYaml(text);
  if (!isPlainObject(value)) throw new Error('the file is no object');
  const {apiVersion, kind: given} = value;
  if (!apiVersion || !given) throw new Error(`Object '${given ? 'apiVersion' : 'Kind'}' is missing in '${text.trim()}'`);
  const groups = namings.map(({agent, apiSuffix}) => `${agent}.config.${apiSuffix}`);
  const isKnown = groups.some(group => [`${group}/v1`, `${group}/v1beta1`, `${group}/v1alpha1`].includes(String(apiVersion)));
  if (!isKnown || given !== kind)
    throw new Error(`no kind ${JSON.stringify(given)} is registered for version ${JSON.stringify(apiVersion)}`);
  const all = [...problems, ...fieldProblems(value, fieldTypes.configuration, '')];
  const raws = (value['providers'] ?? []) as readonly RawProvider[];
  for (const [index, raw] of raws.entries()) {
    const path = `providers[${index}].`;
    all.push(...fieldProblems(raw, fieldTypes.provider, path));
    for (const [at, variable] of (raw.env ?? []).entries()) all.push(...fieldProblems(variable, fieldTypes.variable, `${path}env[${at}].`));
    if (raw.tokenAttributes) all.push(...fieldProblems(raw.tokenAttributes, fieldTypes.tokenAttributes, `${path}tokenAttributes.`));
  }
  if (all.length > 0) throw new Error(strictDecodingText(all));
  return raws.map(providerOf);
};

/** Each length is part of the digest, so that content does not move between files unseen. */
const digestOf = (files: readonly ConfigurationFile[]): string => {
  const digest = createHash('sha256');
  for (const {content} of files) {
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(content.length));
    digest.update(length).update(content);
  }
  return `sha256:${digest.digest('hex')}`;
};

const aggregated = (errors: readonly FieldError[]): string => {
  const texts = [...new Set(errors.map(({path, detail}) => `${path}: ${detail}`))];
  return texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`;
};

/** Returns the validated providers of files. Throws with an error of one line. */
export const providersIn = (
  files: readonly ConfigurationFile[],
  namings: readonly Naming[],
  acceptsTokens: boolean,
): ProviderConfiguration => {
  const providers: CredentialProvider[] = [];
  for (const {path, content} of files) {
    let found: readonly CredentialProvider[];
    try {
      found = decoded(content.toString(), namings);
    } catch (cause) {
      throw new Error(`error decoding config ${JSON.stringify(path)}: ${messageOf(cause)}`, {cause});
    }
    for (const provider of found) {
      if (providers.some(({name}) => name === provider.name))
        throw new Error(`duplicate provider name ${JSON.stringify(provider.name)} found in configuration file(s)`);
      providers.push(provider);
    }
  }
  const errors = configurationErrors(providers, namings, acceptsTokens);
  if (errors.length > 0) throw new Error(`failed to validate credential provider config: ${aggregated(errors)}`);
  return {providers, hash: digestOf(files)};
};
