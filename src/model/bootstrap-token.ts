// Bootstrap tokens: `<id>.<secret>`, each kept in the secret `bootstrap-token-<id>` of the system namespace. The API
// server authenticates them, controllers sign the cluster-info config map with them and delete those that have expired,
// and `plat token` manages them.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {parseTime} from '#src/api/time.js';
import type {Secret} from '#src/api/types.js';

/** The config map of the public namespace from which a node learns how to connect to the cluster. */
export const clusterInfoName = 'cluster-info';

/** The key in that config map of the connection settings. */
export const clusterInfoKey = ({prefix}: Naming): string => `${prefix}config`;

/** The key in that config map of the signature made with a token. */
export const signatureKey = (naming: Naming, tokenId: string): string => `jws-${clusterInfoKey(naming)}-${tokenId}`;

const tokenForm = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;
const namePrefix = 'bootstrap-token-';

/** The forms of a token and of its id, as error messages quote them. */
export const tokenPattern = '\\A([a-z0-9]{6})\\.([a-z0-9]{16})\\z';
export const tokenIdPattern = '\\A([a-z0-9]{6})\\z';
/** The form of a group that a token gives, as error messages quote it. */
export const groupPattern = '\\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\\z';

/** Returns the two parts of a token; undefined for text of another form. */
export const parseToken = (text: string): {readonly id: string; readonly secret: string} | undefined => {
  const [, id, secret] = tokenForm.exec(text) ?? [];
  return id && secret ? {id, secret} : undefined;
};

/** Whether a token may give this group. */
export const isTokenGroup = (group: string): boolean => groupForm.test(group);

/** Whether a text has the form of a token's id. */
export const isTokenId = (text: string): boolean => /^[a-z0-9]{6}$/.test(text);

/** What a token may be used for. */
export const tokenUsages = ['signing', 'authentication'] as const;

/** The group of tokens with which nodes join. */
export const nodeTokenGroup = ({prefix}: Naming): string => `system:bootstrappers:${prefix}adm:default-node-token`;

/** The name of the secret of a token. */
export const tokenSecretName = (id: string): string => `${namePrefix}${id}`;

/** Returns the token's id by the name of its secret; undefined for another name. */
export const tokenIdOf = (name = ''): string | undefined => /^bootstrap-token-([a-z0-9]{6})$/.exec(name)?.[1];

/** The type of the secrets of tokens. */
export const tokenSecretType = (naming: Naming): string => naming.subKey('bootstrap', 'token');

/** Returns an entry of a secret as text; empty if there is none. */
export const secretText = ({data}: Frozen<Secret>, key: string): string => Buffer.from(data?.[key] ?? '', 'base64').toString();

/** Returns when a token expires: in ms since the epoch, NaN for an invalid time, undefined for never. */
export const expirationOf = (secret: Frozen<Secret>): number | undefined => {
  const text = secretText(secret, 'expiration');
  return text ? (parseTime(text) ?? NaN) : undefined;
};

/** Whether a token has expired; so has one with an invalid time. */
export const hasExpired = (secret: Frozen<Secret>, now: number): boolean => {
  const at = expirationOf(secret);
  return at !== undefined && !(at > now);
};
