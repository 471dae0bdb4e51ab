// The controllers in this folder are part of the API server: they maintain objects that it serves itself (APIServices,
// the conditions and finalizers of definitions, the self service, bootstrap objects). They use only an in-process
// client, like any controller, and run wherever an API server runs. Cluster controllers are in `controllers`; the
// composition of a whole control plane is in `src/plane`.

import {InformerFactory} from '#informers/factory.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {build} from '#src/runtime/build.js';
import type {Controller} from '#src/runtime/controller.js';

export interface LoopParts {
  /** The client of all loops, with the server's own identity. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  /** The minimal duration of a watch. */
  readonly watchSeconds: number;
}

/** The runtime that the loops of one server share. */
export interface Loops {
  readonly informers: InformerFactory;
  /**
   * Runs a controller until the server stops. Resolves once its caches are synced; rejects when it cannot be created.
   */
  run(controller: Controller): Promise<void>;
}

/** Runs the server's own controllers, without client limits, leader election and selection by flags. */
export const serverLoops = ({client, watchSeconds, gate, ...parts}: LoopParts, signal: AbortSignal): Loops => {
  const {log} = parts;
  const informers = new InformerFactory({...parts, client, watchSeconds, meter: noMeter, minResyncMs: 0, signal});
  informers.start();
  const context = {...parts, naming: client.naming, options: {}, gates: {enabled: gate}, informers, clientFor: () => client};
  return {
    informers,
    async run(controller) {
      const built = await build(controller, context, {stopping: signal, calls: signal});
      await built.whenSynced(signal);
      built.run(signal).catch((error: unknown) => log.error({controller: controller.name, err: error}, 'a loop of the server ended'));
    },
  };
};
