import {kinds} from '#src/api/kinds/index.js';
import type {ServiceAccount} from '#src/api/types.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource, type Action, type HookContext} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {tokenRequest} from './serviceaccount-token.js';

const mountable = 'enforce-mountable-secrets';

function* warnAboutMountable(
  account: Readonly<ServiceAccount>,
  old: Readonly<ServiceAccount> | undefined,
  {naming}: HookContext,
): Iterable<string> {
  const key = naming.key(mountable);
  const isMarked = (one: Readonly<ServiceAccount> | undefined): boolean => one?.metadata?.annotations?.[key] !== undefined;
  if (isMarked(account) && !isMarked(old)) {
    yield `metadata.annotations[${key}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;
  }
}

const writable = ['metadata', 'secrets', 'imagePullSecrets', 'automountServiceAccountToken'];

/** ServiceAccount: an identity for programs that run in a namespace. */
export const serviceAccounts = defineResource<ServiceAccount>({
  kind: kinds.serviceAccounts,
  discovery: {shortNames: ['sa']},
  metadata: {nameProblems: subdomainName},
  main: {
    metadata: 'both',
    writes: {create: writable, update: writable},
    prepare(account) {
      // Secrets are in the same namespace: only their names are kept.
      if (account.secrets) account.secrets = account.secrets.map(({name}) => (name === undefined ? {} : {name}));
    },
    warn: warnAboutMountable,
  },
  actions: {token: tokenRequest as Action},
  deletion: {response: 'object'},
  presentation: {columns: [nameColumn, ageColumn]},
});
