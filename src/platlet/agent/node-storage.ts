// The third stage of an agent: the storage drivers of its node, and the volumes that the node has of them.

import type {SharedInformer} from '#informers/shared.js';
import {onAbort} from '#src/base/signals.js';
import {kinds} from '#src/api/kinds/index.js';
import {AllocatableUpdates} from '#src/platlet/csi/allocatable-updates.js';
import {AttachLimits} from '#src/platlet/csi/attach-limits.js';
import {Attachments, uniqueName} from '#src/platlet/csi/attachments.js';
import {CsiBlocks} from '#src/platlet/csi/blocks.js';
import {DriverObjects} from '#src/platlet/csi/driver-objects.js';
import {CsiDrivers} from '#src/platlet/csi/drivers.js';
import {Expansion} from '#src/platlet/csi/expansion.js';
import {StorageMetrics} from '#src/platlet/csi/metrics.js';
import {NodePublication} from '#src/platlet/csi/node-publication.js';
import {CsiPaths} from '#src/platlet/csi/paths.js';
import {CsiVolumes} from '#src/platlet/csi/plugin.js';
import {Publishing} from '#src/platlet/csi/publishing.js';
import {Staging} from '#src/platlet/csi/staging.js';
import type {CsiDriver} from '#src/platlet/csi/volume.js';
import {Measuring} from '#src/platlet/csi/volume-stats.js';
import {VolumesInUse} from '#src/platlet/csi/volumes-in-use.js';
import type {PluginHandler} from '#src/platlet/plugin-watcher/plugin-handler.js';
import type {VolumePlugin} from '#src/platlet/volumes/plugin.js';
import {PodTokens} from '#src/platlet/volumes/tokens.js';
import type {Cluster} from './cluster.js';
import type {AgentHost} from './host.js';
import type {AgentParts} from './parts.js';

/** The storage of a node. */
export interface NodeStorage {
  /** Registers drivers. */
  readonly handler: PluginHandler;
  /** Mounts the volumes of drivers. */
  readonly plugin: VolumePlugin;
  /** The tokens of pods, which drivers may ask for. */
  readonly tokens: PodTokens;
  /** Why the node cannot be ready yet, as far as storage is concerned. */
  problem(): string | undefined;
  /** Returns the attachable volumes in use; undefined before those of an earlier process are known. */
  inUse(): readonly string[] | undefined;
  /** Finds the volumes of an earlier process, and creates the CSINode once the API server can be reached. */
  start(): void;
}

/** What the storage of a node is created with. */
export interface StorageParts extends Pick<AgentParts, 'host' | 'naming' | 'clock' | 'random' | 'log' | 'meter' | 'gate'> {
  readonly identity: Pick<AgentParts['identity'], 'nodeName'>;
  readonly settings: Pick<AgentParts['settings'], 'enableControllerAttachDetach'>;
  readonly clients: Pick<AgentParts['clients'], 'isStandalone' | 'main'>;
}

type Drivers = Pick<SharedInformer<CsiDriver>, 'lister' | 'whenSynced' | 'listen'>;

/** Creates the storage of a node. */
export const nodeStorage = (
  parts: StorageParts,
  {folders}: Pick<AgentHost, 'folders'>,
  cluster: Pick<Cluster, 'informers' | 'registered' | 'events'>,
  signal: AbortSignal,
): NodeStorage => {
  const {identity, settings, clients, host, naming, clock, random, log, meter} = parts;
  const {isStandalone, main: client} = clients;
  const {nodeName} = identity;
  const type = naming.key('csi');
  const metrics = new StorageMetrics(meter, clock, naming);
  const publication = isStandalone ? undefined : new NodePublication({client, nodeName, clock, log, signal});
  const known: Drivers | undefined = isStandalone ? undefined : cluster.informers.informer<CsiDriver>({kind: kinds.csiDrivers});
  const tokens = new PodTokens({client, clock, random, log});
  const objects = new DriverObjects({client, drivers: known, tokens, signal});
  const drivers = new CsiDrivers({publication, type, clock, log, metrics, signal});
  const paths = new CsiPaths(folders);
  const staging = new Staging({host, paths, drivers, objects, metrics, type});
  const publishing = new Publishing({host, paths, drivers, objects, nodeName, metrics, type});
  const blocks = new CsiBlocks({host, paths, objects, staging, publishing, nodeName});
  const measuring = new Measuring(drivers, parts.gate('CSIVolumeHealth'));
  const expansion = new Expansion({client, drivers, objects, clock, events: cluster.events, metrics});
  const volumes = new VolumesInUse({host, folders, paths, staging, clock, log, signal, removed: handle => expansion.forget(handle)});
  const byController = settings.enableControllerAttachDetach;
  const attachments = new Attachments({client, nodeName, byController, node: cluster.registered});
  const isMutable = parts.gate('MutableCSINodeAllocatableCount');
  const limits = isMutable ? new AttachLimits({client, nodeName, drivers, objects, log}) : undefined;
  if (known && isMutable) followAllocatable(parts, drivers, known, signal);
  return {
    handler: handlerOf(drivers),
    plugin: new CsiVolumes({
      host,
      paths,
      clock,
      type,
      metrics,
      objects,
      attachments,
      services: {staging, publishing, blocks, expansion, volumes, measuring, limits},
    }),
    tokens,
    problem: () => publication?.problem,
    inUse: () =>
      volumes.all?.filter(({driver}) => objects.known(driver)?.spec.attachRequired !== false).map(volume => uniqueName(type, volume)),
    start() {
      void volumes.load();
      publication?.initialize().catch((error: unknown) => clock.unhandled(error));
    },
  };
};

/** Returns what registers drivers. */
const handlerOf = (drivers: CsiDrivers): PluginHandler => ({
  validate: ({name, endpoint, versions}) => drivers.validate(name, endpoint, versions),
  register: ({name, endpoint, versions}) => drivers.register(name, endpoint, versions),
  deregister: ({name}) => drivers.unregister(name),
});

/** Keeps the number of volumes that the node can have up to date. */
const followAllocatable = (
  {clock, log}: Pick<AgentParts, 'clock' | 'log'>,
  drivers: CsiDrivers,
  known: Drivers,
  signal: AbortSignal,
): void => {
  const updates = new AllocatableUpdates({drivers, object: name => known.lister.get(name), clock, log, signal});
  drivers.onChange(name => updates.changed(name));
  const listener = known.listen(({object}) => updates.changed(object.metadata?.name ?? ''));
  onAbort(signal, () => listener[Symbol.dispose]());
};
