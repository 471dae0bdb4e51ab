import {hostname} from 'node:os';
import {abortOf} from '#src/runtime/shutdown.js';
import {serverLoops, type LoopParts} from '#src/controlplane/loops.js';
import {Elector} from '#src/runtime/leader-election/elector.js';
import {LeaseLock} from '#src/runtime/leader-election/lease-lock.js';
import type {LeaseTiming} from '#src/runtime/leader-election/timing.js';
import {leaderElectionController, leaseCandidateCollector} from './controller.js';

/** Elects leaders among candidates while this server holds the lease for that. Returns when the signal aborts. */
export const coordinateElections = async (parts: LoopParts, timing: LeaseTiming, signal: AbortSignal): Promise<void> => {
  const {client, clock, random, log, meter} = parts;
  const lock = new LeaseLock({client, namespace: client.naming.systemNamespace, name: leaderElectionController.name});
  const elector = new Elector({lock, identity: `${hostname()}_${random.uuid()}`, clock, random, log, meter, ...timing});
  while (!signal.aborted) {
    await elector.run(signal, async leading => {
      const loops = serverLoops(parts, leading);
      const started = [leaderElectionController, leaseCandidateCollector].map(controller => loops.run(controller));
      await Promise.all(started).catch((error: unknown) => {
        if (!leading.aborted) log.error({err: error}, 'leaders cannot be elected');
      });
      await abortOf(leading);
    });
  }
};
