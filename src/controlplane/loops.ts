import {InformerFactory} from '#informers/factory.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {noMeter, type Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {build} from '#src/runtime/build.js';
import type {Controller} from '#src/runtime/controller.js';

export interface LoopParts {
  /** As whom all loops act: the server itself. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  /** The least time a watch is asked to last. */
  readonly watchSeconds: number;
}

/** What the loops of one server share. */
export interface Loops {
  readonly informers: InformerFactory;
  /** Resolves once a controller is at work, all its caches synced; it works until the server stops. Rejects when it cannot be built. */
  run(controller: Controller): Promise<void>;
}

/** Runs controllers that belong to the server itself, whose clients and informers need no limits, no election and no choice. */
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
