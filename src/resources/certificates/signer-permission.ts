import type {Authorizer} from '#src/api/authorization.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';

/** What the permission checks of signers need. */
export interface SignerGuard {
  readonly naming: Naming;
  readonly authorizer: Authorizer;
}

const isAllowed = async ({naming, authorizer}: SignerGuard, user: UserInfo, verb: string, name: string): Promise<boolean> => {
  const resource = {group: naming.group('certificates'), version: '*', resource: 'signers', subresource: '', namespace: '', name};
  try {
    return (await authorizer.authorize({user, verb, resource, path: ''})).decision === 'allow';
  } catch {
    return false;
  }
};

/**
 * Reports whether a user has the verb on a signer, by its name or its domain. Signers are not served; they occur only
 * in RBAC rules.
 */
export const mayForSigner = async (guard: SignerGuard, user: UserInfo, verb: string, signerName: string): Promise<boolean> =>
  (await isAllowed(guard, user, verb, signerName)) || (await isAllowed(guard, user, verb, `${signerName.split('/')[0]}/*`));
