import type {Index} from '#informers/lister.js';
import type {Selection} from '#informers/selection.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Secret, ServiceAccount} from '#src/api/types.js';

/** The token secrets of service accounts. */
export const tokenSecrets: Selection<Secret> = {
  kind: kinds.secrets,
  fieldSelector: naming => `type=${naming.key('service-account-token')}`,
};

const nameEnding = '/service-account.name';

/** Token secrets by `namespace/account`, in either naming. */
export const byAccount: Index<Secret> = {
  name: 'account',
  values: ({metadata = {}}) =>
    Object.entries(metadata.annotations ?? {})
      .filter(([key]) => key.endsWith(nameEnding))
      .map(([, account]) => `${metadata.namespace}/${account}`),
};

/** Returns the key of a token secret's account. */
export const accountKeyOf = ({metadata = {}}: Frozen<Secret>, naming: Naming): ObjectKey => ({
  namespace: metadata.namespace ?? '',
  name: metadata.annotations?.[naming.key('service-account.name')] ?? '',
});

/** Whether the secret belongs to this account: one without a UID matches by name. */
export const isOf = ({metadata: secret = {}}: Frozen<Secret>, {metadata: account}: Frozen<ServiceAccount>, naming: Naming): boolean => {
  const uid = secret.annotations?.[naming.key('service-account.uid')];
  return !uid || uid === account?.uid;
};
