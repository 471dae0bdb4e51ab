// Reads kubeconfig files: cluster, user and context into connection settings. The content is unchecked input; every
// error is one line that names the flag and the file.

import {readFile} from 'node:fs/promises';
import {dirname, resolve} from 'node:path';
import {naming} from '#src/api/naming.js';
import {oneLine} from '#src/transport/one-line.js';
import {execPlugin} from '#src/transport/plugins/exec-settings.js';
import {oidcProvider, type RawProvider} from '#src/transport/plugins/oidc-settings.js';
import type {ClientIdentity, ConnectionSettings, ExecCluster, Impersonation, Material, ServerTrust} from '#src/transport/settings.js';

/** The used parts of a kubeconfig (client authentication API, Config v1). All of it is unchecked input. */
interface RawCluster {
  readonly server?: string;
  readonly 'certificate-authority'?: string;
  readonly 'certificate-authority-data'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  readonly 'tls-server-name'?: string;
  readonly 'proxy-url'?: string;
  readonly extensions?: unknown;
}
interface RawUser {
  readonly 'client-certificate'?: string;
  readonly 'client-certificate-data'?: string;
  readonly 'client-key'?: string;
  readonly 'client-key-data'?: string;
  readonly token?: string;
  readonly tokenFile?: string;
  readonly username?: string;
  readonly password?: string;
  readonly as?: string;
  readonly 'as-uid'?: string;
  readonly 'as-groups'?: readonly string[];
  readonly 'as-user-extra'?: Readonly<Record<string, readonly string[]>>;
  readonly exec?: object;
  readonly 'auth-provider'?: RawProvider;
}
interface RawSettings {
  readonly 'current-context'?: string;
  readonly contexts?: unknown;
  readonly clusters?: unknown;
  readonly users?: unknown;
}

/** Reads a kubeconfig. Rejects with an error of one line that begins with `flag` and the file. */
export const readSettingsFile = async (
  file: string,
  {flag, context, server}: {readonly flag: string; readonly context?: string | undefined; readonly server?: string | undefined},
): Promise<ConnectionSettings> => {
  const source = `${flag} ${file}`;
  try {
    const text = await readFile(file, 'utf8');
    return {...settingsOf(await parse(text), {directory: dirname(resolve(file)), context, server}), source};
  } catch (cause) {
    throw new Error(`${source}: ${oneLine(cause)}`, {cause});
  }
};

/**
 * Reads a kubeconfig that is given as text or as an object; its relative paths are below the working directory. Rejects
 * with an error of one line.
 */
export const readSettings = async (
  given: string | object,
  {context}: {readonly context?: string | undefined},
): Promise<ConnectionSettings> => {
  const source = 'kubeconfig';
  try {
    const raw = typeof given === 'string' ? await parse(given) : (given as RawSettings);
    return {...settingsOf(raw, {directory: process.cwd(), context, server: undefined}), source};
  } catch (cause) {
    throw new Error(`${source}: ${oneLine(cause)}`, {cause});
  }
};

/** The users of a kubeconfig by their names. */
export interface NamedIdentities {
  readonly users: ReadonlyMap<string, ClientIdentity>;
  /** The user of the current context. */
  readonly current?: string | undefined;
  /** The source, for messages. */
  readonly source: string;
}

/**
 * Reads the users of a kubeconfig, which needs no server. Rejects with an error of one line that begins with `flag` and
 * the file.
 */
export const readIdentities = async (file: string, {flag}: {readonly flag: string}): Promise<NamedIdentities> => {
  const source = `${flag} ${file}`;
  try {
    const raw = await parse(await readFile(file, 'utf8'));
    const named = (Array.isArray(raw.users) ? raw.users : []).flatMap((item: unknown) =>
      isRecord(item) && typeof item['name'] === 'string' ? [item['name']] : [],
    );
    const directory = dirname(resolve(file));
    const users = named.map((name): [string, ClientIdentity] => [
      name,
      identityOf(entry<RawUser>(raw.users, 'user', name), {name, directory}),
    ]);
    const context = raw['current-context'];
    const current = context ? entry<{readonly user?: string}>(raw.contexts, 'context', context).user : undefined;
    return {users: new Map(users), current, source};
  } catch (cause) {
    throw new Error(`${source}: ${oneLine(cause)}`, {cause});
  }
};

/** Returns the value of a text if it is JSON, which is read without loading the YAML parser. */
const jsonOf = (text: string): unknown => {
  try {
    return text.trimStart().startsWith('{') ? JSON.parse(text) : undefined;
  } catch {
    return undefined; // YAML in flow style begins with a brace, too.
  }
};

const parse = async (text: string): Promise<RawSettings> => {
  const value = jsonOf(text) ?? (await import('#src/base/yaml/parse.js')).parseYaml(text).value;
  if (!isRecord(value)) throw new Error('the file holds no connection settings');
  checkText('the file', value, 'current-context');
  return value as RawSettings;
};

const settingsOf = (
  raw: RawSettings,
  {directory, context, server}: {readonly directory: string; readonly context: string | undefined; readonly server: string | undefined},
): Omit<ConnectionSettings, 'source'> => {
  const name = context ?? raw['current-context'];
  if (!name) throw new Error('no current-context is set');
  const chosen = entry<{readonly cluster?: string; readonly user?: string; readonly namespace?: string}>(raw.contexts, 'context', name);
  const cluster = entry<RawCluster>(raw.clusters, 'cluster', chosen.cluster ?? '');
  const user = chosen.user ? entry<RawUser>(raw.users, 'user', chosen.user) : {};
  const address = server || cluster.server;
  if (!address) throw new Error(`cluster "${chosen.cluster}" names no server`);
  const trust = trustOf(cluster, directory);
  const isSecure = Boolean(trust.ca || trust.insecure || user['client-certificate'] || user['client-certificate-data']);
  const checked = checkedServer(address, isSecure ? 'https' : 'http');
  const identity = identityOf(user, {name: chosen.user ?? '', directory, cluster: execCluster(checked, trust, cluster)});
  return {
    server: checked,
    trust,
    identity,
    ...(cluster['proxy-url'] ? {proxyUrl: cluster['proxy-url']} : {}),
    ...(chosen.namespace ? {namespace: chosen.namespace} : {}),
  };
};

/** The fields that are strings. The others are checked where they are used. */
const textFields = {
  context: ['cluster', 'user', 'namespace'],
  cluster: ['server', 'certificate-authority', 'certificate-authority-data', 'tls-server-name', 'proxy-url'],
  user: [
    'client-certificate',
    'client-certificate-data',
    'client-key',
    'client-key-data',
    'token',
    'tokenFile',
    'username',
    'password',
    'as',
    'as-uid',
  ],
} as const;

/** Throws for a field that is something else than a string, as YAML has numbers and dates without quotes. */
const checkText = (where: string, fields: Record<string, unknown>, field: string): void => {
  const value = fields[field] ?? '';
  if (typeof value !== 'string') throw new Error(`${where} has a ${field} that is a ${typeof value}, not a string: it needs quotes`);
};

/** The named entry of a list of `{name, <what>: {...}}`. */
const entry = <T extends object>(list: unknown, what: 'context' | 'cluster' | 'user', name: string): T => {
  const found: unknown = Array.isArray(list) ? list.find((item: unknown) => isRecord(item) && item['name'] === name) : undefined;
  const value = isRecord(found) ? (found[what] ?? {}) : undefined;
  if (!isRecord(value)) throw new Error(`${what} "${name}" does not exist`);
  for (const field of textFields[what]) checkText(`${what} "${name}"`, value, field);
  return value as T;
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The normalized address: a URL without a trailing slash. A plain host and port means HTTPS if certificates are
 * configured, HTTP otherwise.
 */
export const checkedServer = (server: string, scheme: 'http' | 'https' = 'http'): string => {
  const full = server.includes('://') ? server : `${scheme}://${server}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (!url || !['https:', 'http:'].includes(url.protocol)) throw new Error(`"${server}" is not the address of a server`);
  return `${url.protocol}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
};

const material = (data: string | undefined, file: string | undefined, directory: string): Material | undefined => {
  if (data) return {data: Buffer.from(data, 'base64').toString()};
  return file ? {file: resolve(directory, file)} : undefined;
};

const trustOf = (cluster: RawCluster, directory: string): ServerTrust => {
  const ca = material(cluster['certificate-authority-data'], cluster['certificate-authority'], directory);
  const insecure = cluster['insecure-skip-tls-verify'] === true;
  if (insecure && ca) throw new Error('specifying a root certificates file with the insecure flag is not allowed');
  return {
    ...(ca ? {ca} : {}),
    ...(insecure ? {insecure} : {}),
    ...(cluster['tls-server-name'] ? {serverName: cluster['tls-server-name']} : {}),
  };
};

interface UserPlace {
  readonly name: string;
  readonly directory: string;
  /** The user's server, if known. */
  readonly cluster?: ExecCluster;
}

const execCluster = (server: string, trust: ServerTrust, {extensions, 'proxy-url': proxyUrl}: RawCluster): ExecCluster => {
  const found = (Array.isArray(extensions) ? extensions : []).find(
    (item: unknown) => isRecord(item) && item['name'] === naming('kubernetes').groupKey('client.authentication', 'exec'),
  ) as {extension?: unknown} | undefined;
  return {server, trust, ...(proxyUrl ? {proxyUrl} : {}), ...(found ? {config: found.extension} : {})};
};

/** The credential plugin of a user, if configured. */
const pluginOf = ({exec, 'auth-provider': provider}: RawUser, {name, directory, cluster}: UserPlace): ClientIdentity['plugin'] => {
  if (exec && provider) throw new Error(`authProvider cannot be provided in combination with an exec plugin for ${name}`);
  if (exec) return execPlugin(exec, {user: name, directory, cluster});
  return provider && oidcProvider(provider, (data, file) => material(data, file, directory));
};

const identityOf = (user: RawUser, place: UserPlace): ClientIdentity => {
  const {directory} = place;
  const plugin = pluginOf(user, place);
  const cert = material(user['client-certificate-data'], user['client-certificate'], directory);
  const key = material(user['client-key-data'], user['client-key'], directory);
  if (Boolean(cert) !== Boolean(key))
    throw new Error(`the user has a client ${cert ? 'certificate without a key' : 'key without a certificate'}`);
  return {
    ...(cert && key ? {certificate: {cert, key}} : {}),
    ...(user.token ? {token: user.token} : {}),
    ...(user.tokenFile ? {tokenFile: resolve(directory, user.tokenFile)} : {}),
    ...(user.username ? {basic: {username: user.username, password: user.password ?? ''}} : {}),
    ...(user.as ? {impersonate: impersonationOf(user)} : {}),
    ...(plugin ? {plugin} : {}),
  };
};

const impersonationOf = (user: RawUser): Impersonation => ({
  user: user.as!,
  ...(user['as-uid'] ? {uid: user['as-uid']} : {}),
  groups: user['as-groups'] ?? [],
  extra: user['as-user-extra'] ?? {},
});
