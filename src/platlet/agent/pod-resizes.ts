// The stage of an agent after admission: what is allocated to the pods of its node, and how that changes.

import {join} from 'node:path';
import {stateFiles} from '#src/platlet/host/folders.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {mayUseLimitedSwap} from '#src/platlet/resize/swap.js';
import {declaredFeatures} from '#src/platlet/node/declared-features.js';
import {PodResizes} from '#src/platlet/resize/pod-resizes.js';
import {ResourceState} from '#src/platlet/resize/resource-state.js';
import type {PodAdmission} from '#src/platlet/worker/pod-admission.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {Cluster} from './cluster.js';
import type {AgentHost} from './host.js';
import type {NodeStage} from './node.js';
import type {AgentParts} from './parts.js';

/** The values of the stages before. */
interface Before {
  readonly host: Pick<AgentHost, 'hierarchy'>;
  readonly cluster: Pick<Cluster, 'events'>;
  readonly directory: PodDirectory;
  readonly node: Pick<NodeStage, 'node'>;
  readonly admission: PodAdmission;
}

/** Which resources of Guaranteed pods are reserved piece by piece, and stay as they are. */
export const fixedResources = (
  settings: Pick<Settings, 'cpuManagerPolicy' | 'memoryManagerPolicy'>,
  gate: (name: GateName) => boolean,
): {readonly cpu: boolean; readonly memory: boolean} => ({
  cpu: settings.cpuManagerPolicy === 'static' && !gate('InPlacePodVerticalScalingExclusiveCPUs'),
  memory: settings.memoryManagerPolicy === 'Static' && !gate('InPlacePodVerticalScalingExclusiveMemory'),
});

/** Reads what was allocated to pods. Rejects with an error of one line if the files are damaged. */
export const podResizes = async (
  {settings, identity, gate, naming, flags, files, clock, log, metrics}: AgentParts,
  {host: {hierarchy}, cluster, directory, node: {node}, admission}: Before,
  signal: AbortSignal,
): Promise<PodResizes> => {
  const hasSwap = settings['memorySwap.swapBehavior'] === 'LimitedSwap' && hierarchy.version === 2 && identity.machine.swapBytes > 0;
  const open = (name: string): Promise<ResourceState> => ResourceState.open({files, path: join(flags.rootDir, name)});
  return new PodResizes({
    resizes: {
      allocated: await open(stateFiles.allocated),
      actuated: await open(stateFiles.actuated),
      isReady: () => directory.sources.isReady,
      declaredFeatures: declaredFeatures(settings, gate),
      node: {
        naming,
        get capacity() {
          return node.unreserved;
        },
        fixed: fixedResources(settings, gate),
        podLevel: gate('InPlacePodLevelResourcesVerticalScaling'),
        mayUseSwap: (pod, container) => hasSwap && mayUseLimitedSwap(naming, pod, container),
        admit: pod => admission.admitResized(pod),
      },
    },
    clock,
    log,
    events: cluster.events,
    metrics,
    signal,
  });
};
