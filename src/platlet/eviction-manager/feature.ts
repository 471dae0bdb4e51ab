import {join} from 'node:path';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {podsGroup} from '#src/platlet/cgroups/qos-groups.js';
import type {AgentFeature, FeatureContext} from '#src/platlet/feature/feature.js';
import {endingPods} from '#src/platlet/worker/ending-pods.js';
import {findLayout, type DiskLayout} from '#src/platlet/eviction/disk-layout.js';
import {Evictor} from './evictor.js';
import {EvictionManager, type EvictionSettings} from './manager.js';
import {MemoryNotifier} from './memory-notifier.js';
import {evictionReports} from './reports.js';
import {thresholdsOf, withAllocatable} from '#src/platlet/eviction/thresholds.js';

/** Ends pods before the node runs out of memory, disk or processes, and those that exceed limits of local storage. */
export const eviction: AgentFeature = {
  name: 'eviction manager',
  async start(context) {
    const {stats, reclaim, condition, clock, log, signal} = context;
    const settings = settingsOf(context);
    const notifier = await memoryNotifier(context, settings);
    const manager = new EvictionManager({
      settings,
      node: {
        measure: () => stats.read(),
        measured: async measured => notifier?.refresh(measured),
        layout: () => layoutOfNode(context),
        removeContainers: () => reclaim.containers.removeUnused(),
        removeImages: () => reclaim.images.removeUnused(),
      },
      evictor: evictorOf(context),
      condition,
      reports: evictionReports(context),
      clock,
      log,
      signal,
    });
    manager.start();
    await notifier?.start(() => manager.wake());
  },
};

const settingsOf = ({settings, flags, gate}: FeatureContext): EvictionSettings => {
  const thresholds = thresholdsOf(settings);
  const isEnforced = settings.enforceNodeAllocatable.includes('pods') && !flags.allocatesThresholds;
  return {
    thresholds: isEnforced ? withAllocatable(thresholds) : thresholds,
    transitionMs: settings.evictionPressureTransitionPeriod,
    maxGraceSeconds: settings.evictionMaxPodGracePeriod,
    limitsStorage: settings.localStorageCapacityIsolation,
    withPodLevel: gate('PodLevelResources'),
  };
};

/** Returns what notifies about memory, if that is wanted and cgroups of this version support it. */
const memoryNotifier = async (
  {settings, host, cgroups, podCgroups, clock, log, signal}: FeatureContext,
  {thresholds}: EvictionSettings,
): Promise<MemoryNotifier | undefined> => {
  if (!settings.kernelMemcgNotification || cgroups.version !== 1) return undefined;
  const folderOf = async (of: Pick<CgroupHierarchy, 'foldersOf'>, group: string): Promise<string> => {
    for (const folder of of.foldersOf(group)) if (await host.status(join(folder, 'memory.usage_in_bytes'))) return folder;
    throw new Error(`memory cgroup mount point not found of ${group}`);
  };
  const machine = await folderOf(cgroups, '/');
  const pods = await folderOf(podCgroups, join('/', settings.cgroupRoot, settings.cgroupsPerQOS ? podsGroup : ''));
  return new MemoryNotifier({host, folders: {machine, pods}, thresholds, clock, log, signal});
};

/** Finds the layout of the node's disks. Rejects for one that a gate does not allow. */
export const layoutOfNode = async ({
  host,
  runtime,
  flags,
  gate,
  naming,
}: Pick<FeatureContext, 'host' | 'runtime' | 'flags' | 'gate' | 'naming'>): Promise<DiskLayout> => {
  const sources = {device: (path: string) => host.device(path), filesystems: () => runtime.imageFilesystems()};
  const layout = await findLayout(sources, flags.rootDir);
  if (layout === 'split' && !gate('PlatletSeparateDiskGC'))
    throw new Error(`${naming.inWords('KubeletSeparateDiskGC')} is turned off but we still have a split filesystem`);
  return layout;
};

const evictorOf = ({naming, pods, workers, events, clock, log, signal}: FeatureContext): Evictor =>
  new Evictor({naming, pods: endingPods(pods, workers), events, clock, log, signal});
