import {createHash, timingSafeEqual} from 'node:crypto';
import type {Authentication, Authenticator} from '#src/api/authentication.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Secret} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {
  groupPattern,
  hasExpired,
  isTokenGroup,
  parseToken,
  secretText,
  tokenSecretName,
  tokenSecretType,
} from '#src/model/bootstrap-token.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';

export interface BootstrapTokenParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly reader: Reader;
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The groups that a secret adds. Throws for a group that bootstrap tokens must not give. */
const extraGroups = (text: string): string[] =>
  text.split(',').flatMap(part => {
    const group = part.trim();
    if (!group) return [];
    if (!isTokenGroup(group)) throw new Error(`bootstrap group ${JSON.stringify(group)} is invalid (must match ${groupPattern})`);
    return [group];
  });

/**
 * Authenticates bootstrap tokens: `<id>.<secret>`, kept in the secret `bootstrap-token-<id>` of the system namespace.
 * Tokens of another form are left to other authenticators, and so is a token whose secret does not allow it, whatever
 * the cause.
 */
export const bootstrapTokenAuthenticator = ({naming, clock, log, reader}: BootstrapTokenParts): Authenticator => {
  const type = tokenSecretType(naming);

  const objection = (secret: Readonly<Secret> | undefined, id: string, value: string): string | undefined => {
    if (!secret) return 'there is no such secret';
    if (secret.metadata?.deletionTimestamp) return 'it is deleted and awaiting removal';
    if (secret.type !== type) return `it has another type than ${type}`;
    const data = (key: string): string => secretText(secret, key);
    if (!timingSafeEqual(hash(data('token-secret')), hash(value))) return 'its token-secret does not match';
    if (data('token-id') !== id) return 'its token-id does not match';
    if (hasExpired(secret, clock.now())) return 'it has expired';
    return data('usage-bootstrap-authentication') === 'true' ? undefined : 'it is not marked usage-bootstrap-authentication';
  };

  const authenticate = async (id: string, value: string): Promise<Authentication> => {
    const name = tokenSecretName(id);
    const secret = await reader.get(kinds.secrets, naming.systemNamespace, name);
    const cause = objection(secret, id, value);
    if (cause !== undefined) {
      log.v(3).info({secret: name, cause}, 'a bootstrap token is not accepted');
      return undefined;
    }
    const listed = secret ? secretText(secret, 'auth-extra-groups') : '';
    try {
      return {user: {name: `system:bootstrap:${id}`, groups: [...new Set(['system:bootstrappers', ...extraGroups(listed)])].sort()}};
    } catch (error) {
      log.error({secret: name, err: error}, 'a bootstrap token has invalid groups');
      return undefined;
    }
  };

  return {
    name: 'bootstrap-token',
    takesTokens: true,
    authenticate(request) {
      const token = parseToken(bearerToken(request) ?? '');
      return token && authenticate(token.id, token.secret);
    },
  };
};
