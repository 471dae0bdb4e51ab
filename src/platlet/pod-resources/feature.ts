import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import {deviceFiles} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {onAbort} from '#src/base/signals.js';
import type {AgentFeature} from '#src/platlet/feature/feature.js';
import {podResourcesFolder} from '#src/platlet/host/folders.js';
import type {AssignedOnNode} from './answers.js';
import {podResourcesServer} from './server.js';

const folderMode = 0o750;

/** Returns the feature that tells other processes of the node which resources containers have. */
export const podResources = (assigned: AssignedOnNode, release: (active: readonly Frozen<Pod>[]) => void): AgentFeature => ({
  name: 'service of the resources of pods',
  async start({flags, gate, host, pods, clock, log, metrics, signal}) {
    const folder = join(flags.rootDir, podResourcesFolder);
    const socket = join(folder, deviceFiles.socket);
    const server = podResourcesServer({
      assigned: gate('PlatletPodResourcesDynamicResources') ? assigned : {...assigned, claimsOf: () => []},
      pods: {
        get active() {
          return pods.working.active;
        },
        get shown() {
          return pods.shown;
        },
        release: () => release(pods.working.active),
      },
      listsActive: gate('PlatletPodResourcesListUseActivePods'),
      hasGet: gate('PlatletPodResourcesGet'),
      clock,
      log,
      metrics,
    });
    await host.makeFolder(folder, folderMode);
    await host.removeFile(socket);
    await server.listen(socket);
    onAbort(signal, () => void server[Symbol.asyncDispose]().catch(clock.unhandled));
  },
});
