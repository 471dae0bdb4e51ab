import {randomInt} from 'node:crypto';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import type {Client} from '#src/client/client.js';
import {
  groupPattern,
  isTokenGroup,
  nodeTokenGroup,
  parseToken,
  tokenPattern,
  tokenSecretName,
  tokenSecretType,
  tokenUsages,
} from '#src/model/bootstrap-token.js';

/** The attributes of a new token. */
export interface NewToken {
  readonly ttlMs: number;
  readonly usages: readonly string[];
  /** The default group if empty. */
  readonly groups: readonly string[];
  readonly description: string;
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
const randomText = (length: number): string => Array.from({length}, () => letters[randomInt(letters.length)]).join('');

/** Returns a random token. */
export const generateToken = (): string => `${randomText(6)}.${randomText(16)}`;

const problemOf = ({ttlMs, usages, groups}: NewToken): string | undefined => {
  const known: readonly string[] = tokenUsages;
  const unknown = usages.find(usage => !known.includes(usage));
  if (unknown !== undefined)
    return `--usages: invalid bootstrap token usage ${JSON.stringify(unknown)}: valid usages are ${known.join(', ')}`;
  if (usages.length === 0) return '--usages: a token needs at least one usage';
  if (groups.length > 0 && !usages.includes('authentication')) return '--groups: only a token with the usage authentication has groups';
  const group = groups.find(each => !isTokenGroup(each));
  if (group !== undefined) return `--groups: bootstrap group ${JSON.stringify(group)} is invalid (must match ${groupPattern})`;
  return ttlMs < 0 ? '--ttl: a token cannot expire before it is created' : undefined;
};

/** Creates a token, or rejects if its form or its attributes are invalid, or its id is taken. */
export const createToken = async (client: Client, text: string, given: NewToken, now: number): Promise<void> => {
  const {naming} = client;
  const token = parseToken(text);
  if (!token) throw new Error(`the token is not of the form ${tokenPattern}`);
  const problem = problemOf(given);
  if (problem !== undefined) throw new Error(problem);
  const isForAuthentication = given.usages.includes('authentication');
  const groups = given.groups.length > 0 ? given.groups : isForAuthentication ? [nodeTokenGroup(naming)] : [];
  const entries: readonly (readonly [string, string])[] = [
    ['token-id', token.id],
    ['token-secret', token.secret],
    ['description', given.description],
    ['expiration', given.ttlMs === 0 ? '' : wireTime(now + given.ttlMs)],
    ...given.usages.map(usage => [`usage-bootstrap-${usage}`, 'true'] as const),
    ['auth-extra-groups', groups.join(',')],
  ];
  const secret = {
    metadata: {namespace: naming.systemNamespace, name: tokenSecretName(token.id)},
    type: tokenSecretType(naming),
    data: Object.fromEntries(entries.filter(([, entry]) => entry).map(([key, entry]) => [key, Buffer.from(entry).toString('base64')])),
  };
  await client
    .resource(kinds.secrets)
    .create(secret)
    .catch((error: unknown) => {
      throw isAlreadyExists(error) ? new Error(`a token with id ${JSON.stringify(token.id)} already exists`) : error;
    });
};
