// The simulated CSI driver: its controllers (provisioner, attacher, resizer). The part on the nodes is in `mounts.ts`.

import type {InformerFactory} from '#informers/factory.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Lister} from '#informers/lister.js';
import type {Node, KubeObject} from '#src/api/types.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Log} from '#src/base/log.js';
import {defaultLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import type {Workers} from '#src/queue/workers.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {Recorder} from '#src/runtime/events/events.js';
import {attacher} from './attacher.js';
import {driverName, Steps, type DriverContext} from './context.js';
import {NodeVolumes} from './mounts.js';
import {createDriverObjects} from './objects.js';
import {claimProvisioner, volumeDeleter} from './provisioner.js';
import {claimResizer} from './resizer.js';

interface DriverParts extends Pick<DriverContext, 'naming' | 'clock' | 'client' | 'rules'> {
  readonly nodes: Lister<Node>;
  readonly informers: InformerFactory;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

/** The driver before the informers start. */
export interface VolumeDriver {
  readonly context: DriverContext;
  /** Returns the volume manager of nodes. To be called before the informers start. */
  mounts(enqueuePod: (key: string) => void, enqueueNode: (name: string) => void): NodeVolumes;
  /** Starts, with the informers synced. Returns a function that stops it. */
  start(run: (queue: WorkQueue, concurrency: number, reconcile: Reconcile) => Workers): Promise<() => Promise<void>>;
}

const concurrency = 8;

export const createDriver = (parts: DriverParts): VolumeDriver => {
  const {naming, clock, random, log, client, informers, meter, rules, nodes, signal} = parts;
  const driver = driverName(naming);
  const informer = <T extends KubeObject>(kind: Kind<T>) => informers.informer<T>(kind);
  const [claims, volumes, attachments] = [
    informer(kinds.persistentVolumeClaims),
    informer(kinds.persistentVolumes),
    informer(kinds.volumeAttachments),
  ];
  const context: DriverContext = {
    naming,
    driver,
    clock,
    client,
    events: new Recorder({client, clock, random, log, component: driver, signal}),
    rules,
    steps: new Steps(clock, rules),
    claims: claims.lister,
    volumes: volumes.lister,
    classes: informer(kinds.storageClasses).lister,
    attachments: attachments.lister,
    nodes,
  };
  const queueOf = (name: string) =>
    new WorkQueue<string>({clock, meter, name: `simulated-${name}`, limiter: defaultLimiter(clock, {maxDelayMs: 30_000})});

  return {
    context,
    mounts(enqueuePod, enqueueNode) {
      const mounts = new NodeVolumes({driver: context, drivers: informer(kinds.csiDrivers).lister, enqueuePod, enqueueNode});
      claims.listen(({object}) => mounts.onClaim(object));
      volumes.listen(({object}) => mounts.onVolume(object));
      return mounts;
    },
    async start(run) {
      await createDriverObjects(client, naming);
      const [claimQueue, volumeQueue, attachmentQueue] = [queueOf('claims'), queueOf('volumes'), queueOf('attachments')];
      const [provision, resize] = [claimProvisioner(context), claimResizer(context)];
      const listeners = [
        claims.listen(({object}) => claimQueue.add(keyText(keyOf(object)))),
        volumes.listen(({object}) => volumeQueue.add(keyText(keyOf(object)))),
        attachments.listen(({object}) => attachmentQueue.add(keyText(keyOf(object)))),
      ];
      const workers = [
        run(claimQueue, concurrency, key => {
          const claim = context.claims.get(key);
          return claim?.spec?.volumeName ? resize(claim, keyText(key)) : provision(claim, keyText(key));
        }),
        run(volumeQueue, concurrency, volumeDeleter(context)),
        run(attachmentQueue, concurrency, attacher(context)),
      ];
      return async () => {
        for (const listener of listeners) listener[Symbol.dispose]();
        for (const queue of [claimQueue, volumeQueue, attachmentQueue]) queue.shutDown();
        await Promise.all(workers.map(each => each.stop()));
      };
    },
  };
};
