import {unlessMissing} from '#src/client/missing.js';
import {accountKeyOf, tokenSecrets} from '#controllers/shared/token-secrets.js';
import {indexing, type Index} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isConflict} from '#src/api/status.js';
import type {Pod} from '#src/api/pod.js';
import type {Secret} from '#src/api/types.js';
import {Yielder} from '#src/base/turn.js';
import {secretNamesOf} from '#src/model/pod/secret-names.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {dayOf, isTrackedLongEnough, cleanupActionFor} from './policy.js';

export type CleanerOptions = Pick<ControllerManagerOptions, 'legacyServiceAccountTokenCleanUpPeriod'>;

/** Pods by the secrets they use. */
const podsBySecret: Index<Pod> = {
  name: 'secret',
  values: ({metadata, spec}) =>
    spec
      ? [...new Set(secretNamesOf(spec as NonNullable<Pod['spec']>))].map(name => keyText({namespace: metadata?.namespace ?? '', name}))
      : [],
};

/** One pass over all token secrets. Failures are retried the next day. */
export const cleaner = (context: KeyedContext<CleanerOptions>): Reconcile => {
  const {client, clock, lister, log, naming, writer} = context;
  const {legacyServiceAccountTokenCleanUpPeriod: periodMs} = context.options;
  const accounts = lister(kinds.serviceAccounts);
  const pods = indexing(lister(kinds.pods), podsBySecret);
  const cached = lister(tokenSecrets);
  const secrets = writer(kinds.secrets);
  const pieces = new Yielder(clock);

  const mark = (secret: Frozen<Secret>, now: number) =>
    secrets.patch(secret, 'merge', {
      metadata: {uid: secret.metadata?.uid, labels: {[naming.key('legacy-token-invalid-since')]: dayOf(now)}},
    });
  const cleanSecret = async (secret: Frozen<Secret>, now: number): Promise<void> => {
    const {namespace = '', name = ''} = keyOf(secret);
    const isMounted = () => pods.count(podsBySecret, keyText({namespace, name})) > 0;
    const action = cleanupActionFor(secret, {account: accounts.get(accountKeyOf(secret, naming)), isMounted, periodMs, now, naming});
    if (action === 'mark') await mark(secret, now);
    if (action === 'delete') await unlessMissing(secrets.delete(secret, {onlyIf: 'unchanged'}));
  };

  return async () => {
    const now = clock.now();
    const tracking = await unlessMissing(
      client.resource(kinds.configMaps).get(naming.legacyTokenTracking, {namespace: naming.systemNamespace}),
    );
    if (!isTrackedLongEnough(tracking?.data?.['since'], periodMs, now)) return settled;
    for (const secret of cached.list()) {
      const pause = pieces.pause();
      if (pause) await pause;
      await cleanSecret(secret, now).catch((error: unknown) => {
        if (!isConflict(error)) log.error({err: error, secret: keyText(keyOf(secret))}, 'a token secret could not be cleaned');
      });
    }
    return settled;
  };
};
