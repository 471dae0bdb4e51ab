import {createHash, timingSafeEqual} from 'node:crypto';
import type {Authentication, Authenticator} from '#src/api/authentication.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import {parseTime} from '#src/api/time.js';
import type {Secret} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {bearerToken} from '#src/serving/authenticators/bearer.js';

export interface BootstrapTokenParts {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly reader: Reader;
}

const form = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupForm = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

const hash = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The groups that a secret adds. Throws for a group that bootstrap tokens must not give. */
const extraGroups = (text: string): string[] =>
  text.split(',').flatMap(part => {
    const group = part.trim();
    if (!group) return [];
    if (!groupForm.test(group))
      throw new Error(
        `bootstrap group ${JSON.stringify(group)} is invalid (must match \\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\\z)`,
      );
    return [group];
  });

/**
 * Authenticates bootstrap tokens: `<id>.<secret>`, kept in the secret `bootstrap-token-<id>` of the system namespace. Tokens of another form are left to other
 * authenticators, and so is a token whose secret does not allow it, whatever the cause.
 */
export const bootstrapTokenAuthenticator = ({naming, clock, log, reader}: BootstrapTokenParts): Authenticator => {
  const type = naming.subKey('bootstrap', 'token');

  const objection = (secret: Readonly<Secret> | undefined, id: string, value: string): string | undefined => {
    if (!secret) return 'there is no such secret';
    if (secret.metadata?.deletionTimestamp) return 'it is deleted and awaiting removal';
    if (secret.type !== type) return `it has another type than ${type}`;
    const data = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString();
    if (!timingSafeEqual(hash(data('token-secret')), hash(value))) return 'its token-secret does not match';
    if (data('token-id') !== id) return 'its token-id does not match';
    const expiration = data('expiration');
    const end = parseTime(expiration);
    if (expiration && (end === undefined || end <= clock.now())) return 'it has expired';
    return data('usage-bootstrap-authentication') === 'true' ? undefined : 'it is not marked usage-bootstrap-authentication';
  };

  const authenticate = async (id: string, value: string): Promise<Authentication> => {
    const name = `bootstrap-token-${id}`;
    const secret = await reader.get(kinds.secrets, naming.systemNamespace, name);
    const cause = objection(secret, id, value);
    if (cause !== undefined) {
      log.v(3).info({secret: name, cause}, 'a bootstrap token is not accepted');
      return undefined;
    }
    const listed = Buffer.from(secret?.data?.['auth-extra-groups'] ?? '', 'base64').toString();
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
      const [, id, value] = form.exec(bearerToken(request)) ?? [];
      return id && value ? authenticate(id, value) : undefined;
    },
  };
};
