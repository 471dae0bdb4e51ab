// The credentials in pull secrets, and the lookup for an image. Pure.

import {createHash} from 'node:crypto';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Secret} from '#src/api/types.js';
import type {ImageCredentials} from '#src/platlet/runtime/images.js';

/** The secret of credentials. */
export interface CredentialSource {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** Credentials with their source. */
export interface TrackedCredentials {
  readonly credentials: ImageCredentials;
  /** Absent: all pods of the node may use them. */
  readonly source?: CredentialSource;
  /** The service account for whose token a credential provider gave them. */
  readonly serviceAccount?: CredentialSource;
  /** Equal for equal credentials, even of different secrets. */
  readonly hash: string;
}

/** Credentials for a registry or a repository prefix. */
export interface KeyringEntry extends TrackedCredentials {
  /** Host, port and path; `*` matches a part of a host label. */
  readonly registry: string;
}

/** The names of the default registry. */
const defaultRegistry = 'index.docker.io';
const defaultRegistries = new Set(['docker.io', defaultRegistry]);

interface RegistryLogin {
  readonly username?: string;
  readonly password?: string;
  readonly auth?: string;
  readonly identitytoken?: string;
}

const loginOf = ({username = '', password = '', auth}: RegistryLogin): ImageCredentials => {
  if (auth) {
    const text = Buffer.from(auth, 'base64').toString();
    const colon = text.indexOf(':');
    if (colon >= 0) return {username: text.slice(0, colon), password: text.slice(colon + 1)};
  }
  return {username, password};
};

/** The characters that the original's JSON encoder escapes and that of JavaScript does not. */
const escaped = /[<>&\u2028\u2029]/g;

/** Returns the hash of credentials as the original records it. */
const hashOf = ({username, password}: ImageCredentials): string => {
  const text = JSON.stringify({...(username ? {username} : {}), ...(password ? {password} : {})});
  const json = text.replaceAll(escaped, character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return createHash('sha256').update(json).digest('hex');
};

/** Returns an entry of a keyring. `registry` may have a scheme and an API version. */
export const keyringEntry = (
  registry: string,
  credentials: ImageCredentials,
  from: Pick<TrackedCredentials, 'source' | 'serviceAccount'>,
): KeyringEntry => ({registry: registryName(registry), credentials, ...from, hash: hashOf(credentials)});

/** Sorts entries: of two matching entries the longer one comes first. */
export const bestFirst = (entries: readonly KeyringEntry[]): KeyringEntry[] =>
  entries.toSorted((a, b) => (a.registry < b.registry ? 1 : a.registry > b.registry ? -1 : 0));

/** Returns a registry without scheme and API version path. */
const registryName = (key: string): string =>
  key
    .replace(/^https?:\/\//, '')
    .replace(/\/(?:v1|v2)\/?$/, '')
    .replace(/\/$/, '');

const loginsOf = (text: string, isWrapped: boolean): Readonly<Record<string, RegistryLogin>> => {
  const parsed = JSON.parse(text) as {readonly auths?: Record<string, RegistryLogin>} & Record<string, RegistryLogin>;
  return (isWrapped ? parsed.auths : parsed) ?? {};
};

/** Returns the credentials in pull secrets. Secrets of other types and malformed ones are skipped. */
export const keyringOf = (naming: Naming, secrets: readonly Frozen<Secret>[]): KeyringEntry[] => {
  const keys = [
    {type: naming.key('dockerconfigjson'), name: '.dockerconfigjson', isWrapped: true},
    {type: naming.key('dockercfg'), name: '.dockercfg', isWrapped: false},
  ];
  const entries: KeyringEntry[] = [];
  for (const {metadata: {uid = '', namespace = '', name: secret = ''} = {}, type, data = {}} of secrets)
    for (const {type: wanted, name, isWrapped} of keys) {
      const encoded = data[name];
      if (type !== wanted || encoded === undefined) continue;
      try {
        for (const [key, login] of Object.entries(loginsOf(Buffer.from(encoded, 'base64').toString(), isWrapped))) {
          const credentials = loginOf(login);
          const source = {uid, namespace, name: secret};
          entries.push(keyringEntry(key, credentials, {source}));
        }
      } catch {
        // The pull will fail without credentials.
      }
    }
  return bestFirst(entries);
};

/** Returns an image name without tag and digest. */
const repositoryOf = (image: string): string => {
  const [name = ''] = image.split('@');
  const colon = name.lastIndexOf(':');
  return colon > name.lastIndexOf('/') ? name.slice(0, colon) : name;
};

/** Whether the first part of a name is a registry host. */
const isRegistry = (part: string): boolean => /[.:]/.test(part) || part === 'localhost';

interface Place {
  readonly labels: readonly string[];
  readonly port: string;
  readonly path: string;
}

const placeOf = (text: string): Place => {
  const slash = text.indexOf('/');
  const authority = slash < 0 ? text : text.slice(0, slash);
  const colon = authority.lastIndexOf(':');
  const [host, port] = colon < 0 ? [authority, ''] : [authority.slice(0, colon), authority.slice(colon + 1)];
  return {labels: host.split('.'), port, path: slash < 0 ? '' : text.slice(slash)};
};

/** Whether a label matches a pattern with `*` for any characters. Linear: each literal part is searched once. */
const matchesLabel = (pattern: string, label: string): boolean => {
  const parts = pattern.split('*');
  if (parts.length === 1) return pattern === label;
  const [first = '', last = ''] = [parts[0], parts.at(-1)];
  if (label.length < first.length + last.length || !label.startsWith(first) || !label.endsWith(last)) return false;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = label.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at <= label.length - last.length;
};

/** Whether a registry, or a part of one with `*` in labels of its host, is that of an image without tag and digest. */
export const matchesImage = (registry: string, repository: string): boolean => {
  const [pattern, target] = [placeOf(registry), placeOf(repository)];
  return (
    pattern.labels.length === target.labels.length &&
    (pattern.port === '' || pattern.port === target.port) &&
    pattern.labels.every((label, index) => matchesLabel(label, target.labels[index]!)) &&
    target.path.startsWith(pattern.path)
  );
};

/** Returns the credentials for an image, the most specific first. */
export const credentialsFor = (keyring: readonly KeyringEntry[], image: string): readonly TrackedCredentials[] => {
  const repository = repositoryOf(image);
  const [first = ''] = repository.split('/');
  const isDefault = !repository.includes('/') || defaultRegistries.has(first) || !isRegistry(first);
  return keyring.filter(({registry}) => (isDefault ? defaultRegistries.has(registry) : matchesImage(registry, repository)));
};
