// The directories of the agent. The names in them are the same in every naming, so that an agent of the other naming
// finds its pods again.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import {volumeFolderPrefix, volumePluginDomain} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';

/** The names of the files with the state of a node's resources, in the data directory of the agent. */
export const stateFiles = {
  allocated: 'allocated_pods_state',
  actuated: 'actuated_pods_state',
  cpus: 'cpu_manager_state',
  memory: 'memory_manager_state',
  claims: 'dra_manager_state',
  claimHealth: 'dra_health_state',
} as const;

/** The directory in which plugins register themselves, in the data directory of the agent. */
export const pluginsFolder = 'plugins_registry';

/** The directory of the socket at which the resources of pods are served, in the data directory of the agent. */
export const podResourcesFolder = 'pod-resources';

/** The directory of the sockets of device plugins, which they know, in the data directory of the agent. */
export const devicePluginsFolder = 'device-plugins';

/** The log directory of pods by default. Only one agent of a machine has it, and it alone keeps links to logs. */
const usualPodLogs = '/var/log/pods';
const usualContainerLogs = '/var/log/containers';

/** Returns the directory with a link to each container log, for a log directory of pods; undefined if there is none. */
export const containerLogsOf = (podLogs: string): string | undefined => (podLogs === usualPodLogs ? usualContainerLogs : undefined);

export interface FolderSettings {
  /** The data directory of the agent. */
  readonly root: string;
  /** The directory of pod logs. */
  readonly podLogs: string;
  /** The directory with a link to each container log; undefined if there is none. */
  readonly containerLogs?: string | undefined;
}

/** Returns the paths of the agent's files. */
export class NodeFolders {
  readonly root: string;
  readonly podLogs: string;
  readonly containerLogs: string | undefined;

  constructor({root, podLogs, containerLogs}: FolderSettings) {
    this.root = root;
    this.podLogs = podLogs;
    this.containerLogs = containerLogs;
  }

  get pods(): string {
    return join(this.root, 'pods');
  }

  get checkpoints(): string {
    return join(this.root, 'checkpoints');
  }

  get seccomp(): string {
    return join(this.root, 'seccomp');
  }

  pod(uid: string): string {
    return join(this.pods, uid);
  }

  hostsFile(uid: string): string {
    return join(this.pod(uid), 'etc-hosts');
  }

  container(uid: string, name: string): string {
    return join(this.pod(uid), 'containers', name);
  }

  volumes(uid: string): string {
    return join(this.pod(uid), 'volumes');
  }

  volume(uid: string, plugin: string, name: string): string {
    return join(this.volumes(uid), `${volumeFolderPrefix}${plugin}`, name);
  }

  /** Whether a path is that of a volume of any pod. */
  isVolume(path: string, plugin: string, name: string): boolean {
    const [uid = ''] = path.startsWith(`${this.pods}/`) ? path.slice(this.pods.length + 1).split('/') : [];
    return uid !== '' && path === this.volume(uid, plugin, name);
  }

  /** The directory with the metadata of a plugin about a volume of a pod. */
  pluginState(uid: string, plugin: string, name: string): string {
    return join(this.pod(uid), 'plugins', `${volumeFolderPrefix}${plugin}`, name);
  }

  /** The directory of the volumes of a plugin in a pod. */
  pluginVolumes(uid: string, plugin: string): string {
    return join(this.volumes(uid), `${volumeFolderPrefix}${plugin}`);
  }

  /** The directory with links to the block devices of a pod. */
  devices(uid: string): string {
    return join(this.pod(uid), 'volumeDevices');
  }

  /** The directory with links to the block devices of a plugin in a pod. */
  pluginDevices(uid: string, plugin: string): string {
    return join(this.devices(uid), `${volumeFolderPrefix}${plugin}`);
  }

  /** The directory with a block device of a plugin for each pod that has it. */
  deviceMaps(plugin: string, name: string): string {
    return join(this.root, 'plugins', `${volumeFolderPrefix}${plugin}`, 'volumeDevices', name);
  }

  /** The directory of a plugin for volumes that pods share. */
  plugin(plugin: string): string {
    return join(this.root, 'plugins', volumePluginDomain, plugin);
  }

  subPaths(uid: string): string {
    return join(this.pod(uid), 'volume-subpaths');
  }

  /** The log directory of a pod. */
  logs({metadata: {namespace = '', name = '', uid = ''} = {}}: Frozen<Pod>): string {
    return join(this.podLogs, `${namespace}_${name}_${uid}`);
  }
}
