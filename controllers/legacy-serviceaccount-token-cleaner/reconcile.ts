import {unlessMissing} from '#controllers/shared/missing.js';
import {accountKeyOf, tokenSecrets} from '#controllers/shared/token-secrets.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {isConflict} from '#src/api/status.js';
import type {Pod} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {dayOf, knowsEnough, verdictOn} from './policy.js';

export type CleanerOptions = Pick<ControllerManagerOptions, 'legacyServiceAccountTokenCleanUpPeriod'>;

/** One pass over all token secrets. What cannot be written now is looked at again the next day. */
export const cleaner = (context: KeyedContext<CleanerOptions>): Reconcile => {
  const {client, clock, lister, log, naming, writer} = context;
  const {legacyServiceAccountTokenCleanUpPeriod: periodMs} = context.options;
  const accounts = lister(kinds.serviceAccounts);
  const pods = lister(kinds.pods);
  const cached = lister(tokenSecrets);
  const secrets = writer(kinds.secrets);

  const used = (namespace: string): ReadonlySet<string> => new Set(pods.list(namespace).flatMap(({spec}) => (spec ? secretNamesOf(spec as NonNullable<Pod['spec']>) : [])));
  const mark = (secret: Frozen<Secret>, now: number) =>
    secrets.patch(secret, 'merge', {metadata: {uid: secret.metadata?.uid, labels: {[naming.key('legacy-token-invalid-since')]: dayOf(now)}}});
  const act = async (secret: Frozen<Secret>, now: number): Promise<void> => {
    const {namespace = '', name = ''} = keyOf(secret);
    const isMounted = () => used(namespace).has(name);
    const verdict = verdictOn(secret, {account: accounts.get(accountKeyOf(secret, naming)), isMounted, periodMs, now, naming});
    if (verdict === 'mark') await mark(secret, now);
    if (verdict === 'delete') await unlessMissing(secrets.delete(secret, {onlyIf: 'unchanged'}));
  };

  return async () => {
    const now = clock.now();
    const tracking = await unlessMissing(client.resource(kinds.configMaps).get(naming.legacyTokenTracking, {namespace: naming.systemNamespace}));
    if (!knowsEnough(tracking?.data?.['since'], periodMs, now)) return settled;
    for (const secret of cached.list()) {
      await act(secret, now).catch((error: unknown) => {
        if (!isConflict(error)) log.error({err: error, secret: keyText(keyOf(secret))}, 'a token secret could not be cleaned');
      });
    }
    return settled;
  };
};
