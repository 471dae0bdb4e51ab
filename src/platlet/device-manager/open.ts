import {join} from 'node:path';
import {deviceFiles, type Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {CheckpointFile} from '#src/platlet/checkpoint/checkpoint-file.js';
import type {Host} from '#src/platlet/host/host.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {parseDeviceCheckpoint, type DeviceCheckpoint} from './checkpoint.js';
import {DevicePlugins} from './device-plugins.js';
import {DeviceManager} from './manager.js';
import {DeviceRegistration} from './registration.js';

export interface DeviceStage {
  readonly registration: DeviceRegistration;
  readonly manager: DeviceManager;
  readonly plugins: DevicePlugins;
  readonly file: CheckpointFile;
  /** Whether no agent before has left anything of plugins: the machine is a new one, possibly in place of another. */
  readonly isNew: boolean;
}

export interface DeviceSettings {
  /** The folder of the sockets of plugins, and of the checkpoint. */
  readonly folder: string;
  /** The NUMA nodes of the machine. */
  readonly nodes: readonly number[];
  readonly naming: Naming;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: AgentMetrics;
}

const nothing: DeviceCheckpoint = {entries: [], registered: new Map()};

/** Creates the manager of devices with the assignments of an earlier agent process. Unreadable ones are logged. */
export const openDeviceManager = async (
  {folder, nodes, naming, host, clock, log, metrics}: DeviceSettings,
  pods: Pick<PodDirectory, 'sources' | 'working' | 'listed'>,
): Promise<DeviceStage> => {
  const file = new CheckpointFile({host, path: join(folder, deviceFiles.checkpoint), clock, log});
  const left = (await host.list(folder)).filter(name => !name.startsWith('.'));
  const plugins = new DevicePlugins({clock, log});
  const checkpoint = await restored(file, log);
  const manager = new DeviceManager({
    plugins,
    nodes,
    checkpoint,
    file,
    clock,
    metrics,
    pods: {
      get isReady() {
        return pods.sources.isReady;
      },
      isRunning: (uid, container) =>
        pods.listed.some(
          ({pod, containers}) => pod.uid === uid && containers.some(({name, state}) => name === container && state === 'running'),
        ),
      isActive: uid => pods.working.active.some(({metadata}) => metadata?.uid === uid),
    },
  });
  const registration = new DeviceRegistration({folder, plugins, naming, host, log, metrics});
  return {registration, manager, plugins, file, isNew: left.length === 0};
};

const restored = async (file: CheckpointFile, log: Log): Promise<DeviceCheckpoint> => {
  const text = await file.read();
  try {
    return text === undefined ? nothing : parseDeviceCheckpoint(text);
  } catch (error) {
    log.error(
      {err: messageOf(error), file: file.path},
      'continue after failing to read the checkpoint of devices, whose allocations may not be up to date',
    );
    return nothing;
  }
};
