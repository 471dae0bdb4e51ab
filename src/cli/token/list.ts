import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Secret} from '#src/api/types.js';
import {wireTime} from '#src/api/time.js';
import type {Client} from '#src/client/client.js';
import {columns} from '#src/cli/program/table.js';
import {expirationOf, secretText, tokenIdOf, tokenSecretType} from '#src/model/bootstrap-token.js';

/** A token as it is listed. */
export interface ListedToken {
  readonly token: string;
  readonly description?: string;
  readonly expires?: string;
  readonly usages?: readonly string[];
  readonly groups?: readonly string[];
}

/** The tokens of a cluster, and why others could not be read. */
export interface TokenList {
  readonly tokens: readonly ListedToken[];
  readonly problems: readonly string[];
}

const usagePrefix = 'usage-bootstrap-';

/** Returns the token of a secret. Throws if it is not complete. */
const tokenOf = (secret: Secret): ListedToken => {
  const name = secret.metadata?.name ?? '';
  const fail = (what: string): never => {
    throw new Error(`the secret ${JSON.stringify(name)} is not a bootstrap token: ${what}`);
  };
  const id = secretText(secret, 'token-id') || fail('it has no token-id');
  if (tokenIdOf(name) !== id) fail(`its name is not that of the token-id ${JSON.stringify(id)}`);
  const value = secretText(secret, 'token-secret') || fail('it has no token-secret');
  const description = secretText(secret, 'description');
  const expiration = expirationOf(secret);
  if (Number.isNaN(expiration)) fail('its expiration is no time');
  const usages = Object.keys(secret.data ?? {})
    .filter(key => key.startsWith(usagePrefix) && secretText(secret, key) === 'true')
    .map(key => key.slice(usagePrefix.length))
    .sort();
  const groups = secretText(secret, 'auth-extra-groups').split(',').filter(Boolean);
  return {
    token: `${id}.${value}`,
    ...(description ? {description} : {}),
    ...(expiration === undefined ? {} : {expires: wireTime(expiration)}),
    ...(usages.length > 0 ? {usages} : {}),
    ...(groups.length > 0 ? {groups} : {}),
  };
};

/** Returns all tokens of the cluster. */
export const listTokens = async (client: Client): Promise<TokenList> => {
  const {naming} = client;
  const {items} = await client
    .resource(kinds.secrets)
    .list({namespace: naming.systemNamespace, fieldSelector: `type=${tokenSecretType(naming)}`});
  const tokens: ListedToken[] = [];
  const problems: string[] = [];
  for (const secret of items) {
    try {
      tokens.push(tokenOf(secret));
    } catch (error) {
      problems.push((error as Error).message);
    }
  }
  return {tokens, problems};
};

const units = [
  ['y', 365 * 86_400],
  ['d', 86_400],
  ['h', 3_600],
  ['m', 60],
] as const;

/** Formats a duration in its largest unit, as `23h`. */
const shortDuration = (ms: number): string => {
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return '<invalid>';
  const [unit, size] = units.find(([, each]) => seconds >= each) ?? ['s', 1];
  return `${Math.floor(Math.max(0, seconds) / size)}${unit}`;
};

/** The least width of a column. */
const leastWidth = 7;

const header = ['TOKEN', 'TTL', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'];

/** Formats tokens as a table; nothing for no tokens. */
export const tokenTable = (tokens: readonly ListedToken[], now: number): string[] => {
  const rows = tokens.map(({token, expires, usages, description, groups}) => [
    token,
    expires ? shortDuration(Date.parse(expires) - now) : '<forever>',
    expires ?? '<never>',
    usages?.join(',') ?? '<none>',
    description ?? '<none>',
    groups?.join(',') ?? '<none>',
  ]);
  if (rows.length === 0) return [];
  return columns(header, rows, leastWidth);
};

/** Returns a token as an object of kubeadm's output API. */
export const tokenObject = (token: ListedToken, {prefix, apiSuffix}: Naming) => ({
  kind: 'BootstrapToken',
  apiVersion: `output.${prefix}adm.${apiSuffix}/v1alpha3`,
  ...token,
});
