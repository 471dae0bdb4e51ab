import {runEvery} from '#src/base/clock.js';
import {onAbort} from '#src/base/signals.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import type {ClaimStage} from './open.js';

const reconcileMs = 60_000;

/** Returns the feature that undoes what is left of claims of pods that are gone, and shows the health of devices. */
export const claimReconciliation = ({plugins, manager, health, wiping}: ClaimStage): AgentFeature => ({
  name: 'reconciliation of resource claims',
  start({pods, workers, gate, clock, log, signal}) {
    void wiping?.start().catch(clock.unhandled);
    if (gate('ResourceHealthStatus')) health.follow(uids => uids.forEach(uid => workers.wake(uid)));
    runEvery(clock, reconcileMs, signal, async () => {
      if (pods.sources.isReady) await manager.reconcile(pods.working.active);
    });
    onAbort(
      signal,
      () =>
        void plugins[Symbol.asyncDispose]().catch((error: unknown) =>
          log.error({err: error}, 'failed to disconnect from the drivers of resource claims'),
        ),
    );
  },
});
