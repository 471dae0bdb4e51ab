import type {AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Reader} from '#src/api/reader.js';
import type {Secret, ServiceAccount} from '#src/api/types.js';
import {serviceAccountUser} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {TokenClaims} from '#src/pki/token.js';
import {InvalidToken, signedTokens, type TokenTrust} from './signed-tokens.js';

export interface SecretTokenParts extends TokenTrust {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly reader: Reader;
  /** Whether account and secret must still be there. */
  readonly lookup: boolean;
  /** Notes on the secret that its token was used on that day. Must not fail. */
  used(secret: Readonly<Secret>, day: string): Promise<void>;
}

/** What a token that lives in a secret says of itself. */
interface SecretClaims {
  readonly namespace: string;
  readonly secretName: string;
  readonly serviceAccountName: string;
  readonly serviceAccountUID: string;
}

const secretClaims = (claims: TokenClaims, naming: Naming): SecretClaims => {
  const said = (what: string): string => {
    const value = claims[naming.key(`serviceaccount/${what}`)];
    return typeof value === 'string' ? value : '';
  };
  const own = {
    namespace: said('namespace'),
    secretName: said('secret.name'),
    serviceAccountName: said('service-account.name'),
    serviceAccountUID: said('service-account.uid'),
  };
  if (!claims.sub) throw new InvalidToken('sub claim is missing');
  for (const [claim, value] of Object.entries(own)) if (!value) throw new InvalidToken(`${claim} claim is missing`);
  if (claims.sub !== serviceAccountUser(own.namespace, own.serviceAccountName).name) throw new InvalidToken('sub claim is invalid');
  return own;
};

const checkSecret = (secret: Readonly<Secret> | undefined, token: string): Readonly<Secret> => {
  if (!secret || secret.metadata?.deletionTimestamp) throw new InvalidToken('Token has been invalidated');
  if (Buffer.from(secret.data?.['token'] ?? '', 'base64').toString() !== token) throw new InvalidToken("Token does not match server's copy");
  return secret;
};

const checkAccount = (account: Readonly<ServiceAccount> | undefined, {namespace, serviceAccountName: name, serviceAccountUID: uid}: SecretClaims): Readonly<ServiceAccount> => {
  if (!account) throw new InvalidToken(`serviceaccounts ${JSON.stringify(name)} not found`);
  if (account.metadata?.deletionTimestamp) throw new InvalidToken(`ServiceAccount ${namespace}/${name} has been deleted`);
  if (account.metadata?.uid !== uid) throw new InvalidToken(`ServiceAccount UID (${account.metadata?.uid}) does not match claim (${uid})`);
  return account;
};

/** Authenticates the tokens without an end that are kept in secrets: the secret must still hold the very token, and the account must be the same. */
export const secretTokens = ({naming, clock, reader, lookup, used, ...trust}: SecretTokenParts): Authenticator => {
  const invalidSince = naming.key('legacy-token-invalid-since');
  const lastUsed = naming.key('legacy-token-last-used');

  const checkLive = async (own: SecretClaims, token: string, request: AuthenticationRequest): Promise<void> => {
    const {namespace, secretName, serviceAccountName} = own;
    const secret = checkSecret(await reader.get(kinds.secrets, namespace, secretName), token);
    const account = checkAccount(await reader.get(kinds.serviceAccounts, namespace, serviceAccountName), own);
    const labels = secret.metadata?.labels ?? {};
    if (labels[invalidSince]) {
      throw new InvalidToken(
        `the token in secret ${namespace}/${secretName} for service account ${namespace}/${serviceAccountName} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '${invalidSince}' label from the secret to temporarily allow use of this token`,
      );
    }
    if (account.secrets?.some(({name}) => name === secretName)) {
      request.warn?.('Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.');
    }
    const today = new Date(clock.now()).toISOString().slice(0, 10);
    if (labels[lastUsed] !== today) await used(secret, today);
  };

  return signedTokens('service-account-secret', [naming.secretTokenIssuer], trust, async (claims, token, request) => {
    const own = secretClaims(claims, naming);
    if (lookup) await checkLive(own, token, request);
    return serviceAccountUser(own.namespace, own.serviceAccountName, own.serviceAccountUID);
  });
};
