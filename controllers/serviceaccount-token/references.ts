import {unlessMissing} from '#src/client/missing.js';
import type {ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import type {Client} from '#src/client/client.js';
import {settled, type Attempt, type Result} from '#src/runtime/controller.js';

/** The key of a secret reference in an account: names of objects contain no slash. */
export const referenceKey = ({namespace, name: account}: ObjectKey, {name: secret}: ObjectKey): ObjectKey => ({
  namespace,
  name: `${account}/${secret}`,
});

const maxAttempts = 10;
const firstPauseMs = 100;

/**
 * Removes a deleted secret from the list of its account. Uses live reads: a secret may have been recreated under the
 * name.
 */
export const forgetSecret = async (
  client: Client,
  random: () => number,
  {namespace, name}: ObjectKey,
  {pause}: Attempt,
): Promise<Result> => {
  const [accountName = '', secretName = ''] = name.split('/');
  const accounts = client.resource(kinds.serviceAccounts);
  for (let attempt = 1; ; attempt++) {
    const account = await unlessMissing(accounts.get(accountName, {namespace}));
    if (!account?.secrets?.some(secret => secret.name === secretName)) return settled;
    if (await unlessMissing(client.resource(kinds.secrets).get(secretName, {namespace}))) return settled;
    try {
      await unlessMissing(accounts.update({...account, secrets: account.secrets.filter(secret => secret.name !== secretName)}));
      return settled;
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
      await pause(firstPauseMs * (1 + random()));
    }
  }
};
