// The file of `--encryption-provider-config`: an `EncryptionConfiguration`, which names the providers of encryption for
// resources.

import {parseDuration} from '#src/api/duration.js';
import {invalid, required, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from '#src/apiserver/configuration/document.js';
import {anything, integer, list, record, text} from '#src/apiserver/configuration/fields.js';

interface KeyFields {
  readonly name?: string;
  /** In base64. */
  readonly secret?: string;
}

interface KeysFields {
  readonly keys?: readonly KeyFields[];
}

interface KmsFields {
  readonly apiVersion?: string;
  readonly name?: string;
  readonly cachesize?: number;
  readonly endpoint?: string;
  readonly timeout?: string;
}

/** A provider as the file spells it: one of the members is present. */
interface ProviderFields {
  readonly aesgcm?: KeysFields;
  readonly aescbc?: KeysFields;
  readonly secretbox?: KeysFields;
  readonly identity?: object;
  readonly kms?: KmsFields;
}

interface EntryFields {
  readonly resources?: readonly string[];
  readonly providers?: readonly ProviderFields[];
}

export interface NamedKey {
  readonly name: string;
  readonly secret: Buffer;
}

export type KeyedProvider = 'aescbc' | 'aesgcm' | 'secretbox';

export interface KmsProvider {
  readonly kind: 'kms';
  readonly version: 'v1' | 'v2';
  readonly name: string;
  /** Decrypted keys that are kept, of version 1; none if negative. */
  readonly cacheSize: number;
  readonly endpoint: string;
  readonly timeoutMs: number;
}

export type EncryptionProvider =
  | {readonly kind: KeyedProvider; readonly keys: readonly NamedKey[]}
  | KmsProvider
  | {readonly kind: 'identity'};

/** The providers of some resources. The first provider encrypts, all of them decrypt. */
export interface EncryptionEntry {
  /** `resource`, `resource.group`, `*.group`, `*.` of the core group, or `*.*`. */
  readonly resources: readonly string[];
  readonly providers: readonly EncryptionProvider[];
}

const keys = record({keys: list(record({name: text, secret: text}))});
const fields = {
  resources: list(
    record({
      resources: list(text),
      providers: list(
        record({
          aesgcm: keys,
          aescbc: keys,
          secretbox: keys,
          identity: anything,
          kms: record({apiVersion: text, name: text, cachesize: integer, endpoint: text, timeout: text}),
        }),
      ),
    }),
  ),
};

const defaultCacheSize = 1000;
const defaultTimeoutMs = 3000;
const keyLengths: Record<KeyedProvider, readonly number[]> = {aescbc: [16, 24, 32], aesgcm: [16, 24, 32], secretbox: [32]};
const keyedProviders = Object.keys(keyLengths) as readonly KeyedProvider[];

/**
 * Reads the file's content. `reloads` as the flag: names of key management providers must then be unique in all
 * versions. Throws an error of one line with all that is wrong.
 */
export const readEncryptionConfiguration = (source: string, naming: Naming, reloads: boolean): readonly EncryptionEntry[] => {
  const {resources: entries = []} = readConfiguration<{readonly resources?: readonly EntryFields[]}>(source, [
    {group: naming.group('apiserver.config'), versions: ['v1'], kind: 'EncryptionConfiguration', fields},
  ]);
  const errors = [...problems(entries, naming, reloads)];
  if (errors.length > 0) {
    const texts = errors.map(({path, detail}) => `${path}: ${detail}`);
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  return entries.map(({resources = [], providers = []}) => ({resources, providers: providers.map(providerOf)}));
};

const providerOf = ({kms, ...provider}: ProviderFields): EncryptionProvider => {
  if (kms)
    return {
      kind: 'kms',
      version: kms.apiVersion === 'v2' ? 'v2' : 'v1',
      name: kms.name!,
      cacheSize: kms.cachesize ?? defaultCacheSize,
      endpoint: kms.endpoint!,
      timeoutMs: kms.timeout === undefined ? defaultTimeoutMs : parseDuration(kms.timeout)!,
    };
  const kind = keyedProviders.find(one => provider[one]);
  if (!kind) return {kind: 'identity'};
  return {kind, keys: provider[kind]!.keys!.map(({name, secret}) => ({name: name!, secret: Buffer.from(secret!, 'base64')}))};
};

function* problems(entries: readonly EntryFields[], naming: Naming, reloads: boolean): Iterable<FieldError> {
  if (entries.length === 0) yield required('resources', 'at least one resources is required');
  const kmsNames = new Set<string>();
  for (const [index, {resources = [], providers = []}] of entries.entries()) {
    const path = `resources[${index}]`;
    if (resources.length === 0) yield required(`${path}.resources`, `at least one ${path}.resources is required`);
    yield* overlapProblems(resources, `${path}.resources`);
    for (const [at, resource] of resources.entries()) yield* resourceProblems(resource, `${path}.resources[${at}]`, naming);
    if (providers.length === 0) yield required(`${path}.providers`, `at least one ${path}.providers is required`);
    for (const [at, provider] of providers.entries()) {
      yield* providerProblems(provider, `${path}.providers[${at}]`, kmsNames, reloads);
      if (provider.kms) kmsNames.add(provider.kms.name ?? '');
    }
  }
}

/** Returns the resource and the group of a text such as `secrets`, `*.apps` or `*.`. */
export const groupResourceOf = (name: string): {readonly resource: string; readonly group: string} => {
  const dot = name.indexOf('.');
  return dot < 0 ? {resource: name, group: ''} : {resource: name.slice(0, dot), group: name.slice(dot + 1)};
};

function* overlapProblems(resources: readonly string[], path: string): Iterable<FieldError> {
  const parsed = resources.map(groupResourceOf);
  const texts = new Set(parsed.map(({group, resource}) => `${resource}.${group}`));
  if (texts.size < parsed.length) yield invalid(path, resources, 'the same resource cannot be specified multiple times');
  const count = new Map<string, number>();
  for (const text of texts) {
    const {group} = groupResourceOf(text);
    count.set(group, (count.get(group) ?? 0) + 1);
  }
  const overlaps =
    (texts.has('*.*') && texts.size > 1) || parsed.some(({group, resource}) => resource === '*' && group !== '*' && count.get(group)! > 1);
  if (overlaps)
    yield invalid(
      path,
      resources,
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked",
    );
}

/** What is stored without being a resource of the API. */
const unserved = new Set(['apiserveripinfo', 'serviceipallocations', 'servicenodeportallocations']);

function* resourceProblems(name: string, path: string, naming: Naming): Iterable<FieldError> {
  const {group, resource} = groupResourceOf(name);
  const events = naming.group('events');
  const detail =
    name.toLowerCase() !== name
      ? 'resource name should not contain capital letters'
      : name === '*'
        ? "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
        : unserved.has(name)
          ? 'resources which do not have REST API/s cannot be encrypted'
          : group === events
            ? `'*.${events}' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file`
            : group === 'extensions'
              ? "'extensions' group has been removed and cannot be used for encryption"
              : group === '*' && resource !== '*'
                ? 'encrypting the same resource across groups is not supported'
                : '';
  if (detail) yield invalid(path, name, detail);
}

function* providerProblems(provider: ProviderFields, path: string, kmsNames: ReadonlySet<string>, reloads: boolean): Iterable<FieldError> {
  const given = Object.entries(provider).filter(([, value]) => value !== undefined && value !== null);
  const shown = Object.fromEntries(given.map(([name]) => [name, 'REDACTED']));
  if (given.length === 0) {
    yield invalid(path, shown, 'provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity');
    return;
  }
  if (given.length > 1) {
    yield invalid(path, shown, 'more than one provider specified in a single element, should split into different list elements');
    return;
  }
  if (provider.kms) yield* kmsProblems(provider.kms, `${path}.kms`, kmsNames, reloads);
  for (const kind of keyedProviders)
    if (provider[kind]) yield* keysProblems(provider[kind].keys ?? [], `${path}.${kind}.keys`, keyLengths[kind]);
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function* keysProblems(given: readonly KeyFields[], path: string, lengths: readonly number[]): Iterable<FieldError> {
  if (given.length === 0) yield required(path, 'at least one keys is required');
  for (const [index, {name, secret}] of given.entries()) {
    const at = `${path}[${index}]`;
    if (!name) yield required(`${at}.name`, 'name is a mandatory field for a key');
    if (!secret) {
      yield required(`${at}.secret`, 'secret is a mandatory field for a key');
      continue;
    }
    const plain = secret.replaceAll(/[\r\n]/g, '');
    if (!base64.test(plain)) {
      yield invalid(`${at}.secret`, 'REDACTED', 'secrets must be base64 encoded');
      continue;
    }
    const {length} = Buffer.from(plain, 'base64');
    if (!lengths.includes(length))
      yield invalid(
        `${at}.secret`,
        'REDACTED',
        `secret is not of the expected length, got ${length}, expected one of [${lengths.join(' ')}]`,
      );
  }
}

function* kmsProblems(
  {apiVersion = 'v1', name = '', cachesize, endpoint = '', timeout}: KmsFields,
  path: string,
  kmsNames: ReadonlySet<string>,
  reloads: boolean,
): Iterable<FieldError> {
  const isV1 = apiVersion === 'v1';
  if (name === '') yield required(`${path}.name`, 'name is a mandatory field for a provider');
  if (!isV1 && name.includes(':')) yield invalid(`${path}.name`, name, `invalid KMS provider name ${name}, must not contain ':'`);
  if ((reloads || !isV1) && kmsNames.has(name))
    yield invalid(`${path}.name`, name, `duplicate KMS provider name ${name}, names must be unique`);
  if (timeout !== undefined && !((parseDuration(timeout) ?? 0) > 0))
    yield invalid(`${path}.timeout`, timeout, 'timeout should be a positive value');
  if (endpoint === '') yield invalid(`${path}.endpoint`, '', 'endpoint is a mandatory field for a kms');
  else {
    const scheme = /^([a-zA-Z][-+.a-zA-Z0-9]*):/.exec(endpoint)?.[1]?.toLowerCase() ?? '';
    if (scheme !== 'unix')
      yield invalid(`${path}.endpoint`, endpoint, `unsupported scheme ${JSON.stringify(scheme)} for KMS provider, only unix is supported`);
  }
  if (!isV1 && cachesize !== undefined) yield invalid(`${path}.cachesize`, cachesize, 'cachesize is not supported in v2');
  if (isV1 && cachesize === 0)
    yield invalid(`${path}.cachesize`, cachesize, 'cachesize should be a positive value, or negative to disable');
  if (!isV1 && apiVersion !== 'v2')
    yield invalid(`${path}.apiVersion`, apiVersion, 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported');
}
