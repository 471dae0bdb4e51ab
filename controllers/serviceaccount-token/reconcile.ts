import {indexing} from '#informers/lister.js';
import {aggregate} from '#controllers/shared/aggregate.js';
import {unlessMissing} from '#src/client/missing.js';
import {accountKeyOf, byAccount, isOf, tokenSecrets} from '#controllers/shared/token-secrets.js';
import {keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import type {Secret, ServiceAccount} from '#src/api/types.js';
import {Yielder} from '#src/base/turn.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';
import {forgetSecret} from './references.js';
import {completed, isIncomplete, tokenMaterial} from './token.js';

export type TokenOptions = Pick<
  ControllerManagerOptions,
  'concurrentServiceaccountTokenSyncs' | 'rootCaFile' | 'serviceAccountPrivateKeyFile'
>;

/** Another client changed the object; its event follows. */
const unlessChanged = async (write: Promise<unknown>): Promise<void> => {
  try {
    await unlessMissing(write);
  } catch (error) {
    if (!isConflict(error)) throw error;
  }
};

/** Three loops: of deleted accounts, of secrets, and of references to deleted secrets. */
export const tokenReconciler = async (context: KeyedContext<TokenOptions>): Promise<Loops> => {
  const {client, clock, files, lister, naming, options, random, serverAuthority, writer} = context;
  const pieces = new Yielder(clock);
  const material = await tokenMaterial(files, options.serviceAccountPrivateKeyFile, options.rootCaFile, serverAuthority);
  const cachedAccounts = lister(kinds.serviceAccounts);
  const cachedSecrets = indexing(lister(tokenSecrets), byAccount);
  const secrets = writer(kinds.secrets);
  const remove = (secret: Frozen<Secret>) => unlessChanged(secrets.delete(secret));

  /** Returns the account of a secret, with a live read before it is considered missing. */
  const accountOf = async (secret: Frozen<Secret>): Promise<Frozen<ServiceAccount> | undefined> => {
    const key = accountKeyOf(secret, naming);
    const cached = cachedAccounts.get(key);
    if (cached && isOf(secret, cached, naming)) return cached;
    const live = await unlessMissing(client.resource(kinds.serviceAccounts).get(key.name, {namespace: key.namespace}));
    return live && isOf(secret, live, naming) ? live : undefined;
  };

  const fill = async (cached: Frozen<Secret>, account: Frozen<ServiceAccount>): Promise<void> => {
    const {namespace = '', name = '', resourceVersion} = cached.metadata ?? {};
    const live = await unlessMissing(client.resource(kinds.secrets).get(name, {namespace}));
    if (live?.metadata?.resourceVersion !== resourceVersion || !live) return; // The event of a later change follows.
    await unlessChanged(secrets.update(completed(live, account, naming, material)));
  };

  return {
    async accounts(key) {
      if (cachedAccounts.get(key)) return settled;
      const removals: Promise<void>[] = [];
      for (const secret of cachedSecrets.by(byAccount, keyText(key))) {
        const pause = pieces.pause();
        if (pause) await pause;
        removals.push(remove(secret));
      }
      const outcomes = await Promise.allSettled(removals);
      const failure = aggregate(
        outcomes.filter(({status}) => status === 'rejected').map(outcome => (outcome as PromiseRejectedResult).reason),
      );
      if (failure) throw failure;
      return settled;
    },
    async secrets(key) {
      const secret = cachedSecrets.get(key);
      if (!secret) return settled;
      const account = await accountOf(secret);
      if (!account) await remove(secret);
      else if (isIncomplete(secret, material)) await fill(secret, account);
      return settled;
    },
    references: (key, attempt) => forgetSecret(client, () => random.float(), key, attempt),
  };
};
