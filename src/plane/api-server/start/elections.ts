import {kinds} from '#src/api/kinds/index.js';
import {coordinateElections} from '#src/controlplane/leader-election/run.js';
import {watchSecondsInProcess} from '#src/plane/component/in-process.js';
import type {LeaseTiming} from '#src/runtime/leader-election/timing.js';
import type {StartHook} from './hook.js';
import type {StartParts, StartSignals} from './parts.js';

/** The election of leaders among candidates, where the API of candidates is served. */
export const electionHooks = (
  {options, server, client, clock, random, log, meter, naming, gate}: StartParts,
  namespaces: StartHook,
  {looping}: StartSignals,
): StartHook[] => {
  if (!gate('CoordinatedLeaderElection')) return [];
  const timing: LeaseTiming = {
    leaseDurationMs: options.coordinatedLeadershipLeaseDuration,
    renewDeadlineMs: options.coordinatedLeadershipRenewDeadline,
    retryPeriodMs: options.coordinatedLeadershipRetryPeriod,
  };
  const run = async (): Promise<void> => {
    if (!server.registry.serves(kinds.leaseCandidates)) {
      const api = naming.apiVersion('coordination', kinds.leaseCandidates.version);
      return log.warn(`no leaders are elected among candidates: --runtime-config=${api}=true serves their API`);
    }
    const parts = {client, clock, random, log, meter, gate, watchSeconds: watchSecondsInProcess};
    coordinateElections(parts, timing, looping).catch((error: unknown) => {
      if (!looping.aborted) log.error({err: error}, 'the election of leaders ended');
    });
  };
  return [{name: `start-${naming.component('apiserver')}-coordinated-leader-election-controller`, after: [namespaces], run}];
};
