// The mounts of containers: sub-paths, mount propagation and read-only modes.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, VolumeMount} from '#src/api/pod.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {expand} from '#src/model/pod/expansion.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import type {Host} from '#src/platlet/host/host.js';
import {WaitingError, type PodMounts} from '#src/platlet/pod/ports.js';
import type {DeviceConfig, MountConfig} from '#src/platlet/runtime/configs.js';
import type {ImageSpec} from '#src/platlet/runtime/images.js';
import type {MountedVolume} from './plugin.js';
import type {NodeVolumes} from './pod-volumes.js';
import {checkSubPath, prepareSubPath} from './sub-paths.js';

export interface ContainerMountsParts {
  /** The mounted volumes. */
  readonly volumes: Pick<NodeVolumes, 'mounted'>;
  readonly host: Host;
  readonly folders: NodeFolders;
  /** Whether the runtime handler of a pod supports recursive read-only mounts. */
  mountsRecursively(pod: Frozen<Pod>): Promise<boolean>;
  readonly log: Log;
}

/** A volume mount of a container. */
interface Mount {
  readonly pod: Frozen<Pod>;
  readonly container: string;
  readonly volume: MountedVolume;
  readonly mount: Frozen<VolumeMount>;
  /** The index of the mount in its container. */
  readonly index: number;
  /** The variables that a sub-path expression may refer to. */
  readonly environment: ReadonlyMap<string, string>;
  /** The image of the volume, if it is one. */
  readonly image: ImageSpec | undefined;
}

const propagations = {HostToContainer: 'host-to-container', Bidirectional: 'bidirectional', None: 'private'} as const;

const refusal = (message: string, cause?: unknown): WaitingError => new WaitingError('CreateContainerConfigError', message, {cause});

/** Returns the mounts of containers for the volumes of their pods. */
export class ContainerMounts implements PodMounts {
  readonly #parts: ContainerMountsParts;

  constructor(parts: ContainerMountsParts) {
    this.#parts = parts;
  }

  async mountsOf(
    pod: Frozen<Pod>,
    {name: container, volumeMounts = []}: Frozen<AnyContainer>,
    environment: ReadonlyMap<string, string>,
    images: ReadonlyMap<string, ImageSpec> = new Map(),
  ): Promise<readonly MountConfig[]> {
    const volumes = this.#parts.volumes.mounted(pod.metadata?.uid ?? '');
    const mounts: MountConfig[] = [];
    const hasSelinux = await this.#parts.host.isSelinuxEnabled();
    for (const [index, mount] of volumeMounts.entries()) {
      const volume = volumes.get(mount.name);
      if (!volume || volume.isDevice)
        throw refusal(`cannot find volume ${JSON.stringify(mount.name)} to mount into container ${JSON.stringify(container)}`);
      const config = await this.#configOf({pod, container, volume, mount, index, environment, image: images.get(mount.name)});
      mounts.push(hasSelinux && volume.isRelabelled ? {...config, selinuxRelabel: true} : config);
    }
    return mounts;
  }

  devicesOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>): readonly DeviceConfig[] {
    const volumes = this.#parts.volumes.mounted(pod.metadata?.uid ?? '');
    return (container.volumeDevices ?? []).map(({name, devicePath}) => {
      const volume = volumes.get(name);
      if (!volume?.isDevice)
        throw refusal(`volume device ${JSON.stringify(name)} of container ${JSON.stringify(container.name)} is not mapped`);
      return {hostPath: volume.path, containerPath: devicePath, permissions: volume.isReadonly ? 'r' : 'mrw'};
    });
  }

  groupsOf({metadata}: Frozen<Pod>): readonly number[] {
    const volumes = this.#parts.volumes.mounted(metadata?.uid ?? '');
    return [...new Set([...volumes.values()].flatMap(({groups = []}) => groups))];
  }

  async #configOf({pod, container, volume, mount, index, environment, image}: Mount): Promise<MountConfig> {
    const uid = pod.metadata?.uid ?? '';
    const path = subPathOf(mount, container, environment);
    if (volume.isImage && !image) throw refusal('path is empty *image.imagePlugin');
    const source = image
      ? {hostPath: '', image: {image, subPath: path ?? ''}}
      : {hostPath: path ? await this.#prepare({uid, volumePath: volume.path, path, volume: mount.name, container, index}) : volume.path};
    const recursiveReadonly = await this.#isRecursive(pod, mount);
    return {
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      ...source,
      readonly: mount.readOnly === true || volume.isReadonly === true,
      ...(recursiveReadonly ? {recursiveReadonly} : {}),
      propagation: propagations[(mount.mountPropagation ?? 'None') as keyof typeof propagations],
    };
  }

  /** Whether a mount is to be recursively read-only. */
  async #isRecursive(
    pod: Frozen<Pod>,
    {name, readOnly, recursiveReadOnly: mode = 'Disabled', mountPropagation: propagation = 'None'}: Frozen<VolumeMount>,
  ): Promise<boolean> {
    if (mode === 'Disabled') return false;
    const what = `failed to resolve recursive read-only mode: volume ${JSON.stringify(name)} requested recursive read-only mode, but it is not`;
    if (!readOnly) throw refusal(`${what} read-only`);
    if (propagation !== 'None') throw refusal(`${what} compatible with propagation ${JSON.stringify(propagation)}`);
    const isAble = await this.#parts.mountsRecursively(pod);
    if (mode === 'Enabled' && !isAble) throw refusal(`${what} supported by the runtime`);
    return isAble;
  }

  async #prepare(sub: Parameters<typeof prepareSubPath>[2]): Promise<string> {
    const {host, folders, log} = this.#parts;
    try {
      return await prepareSubPath(host, folders, sub);
    } catch (error) {
      // Details would disclose the content of the host.
      log.error({container: sub.container, volume: sub.volume, err: error}, 'failed to prepare subPath for volumeMount of the container');
      throw refusal(
        `failed to prepare subPath for volumeMount ${JSON.stringify(sub.volume)} of container ${JSON.stringify(sub.container)}`,
        error,
      );
    }
  }
}

/** Returns the sub-path of a mount; empty for the whole volume. */
const subPathOf = (
  {name, subPath, subPathExpr}: Frozen<VolumeMount>,
  container: string,
  environment: ReadonlyMap<string, string>,
): string | undefined => {
  const path = subPathExpr ? expand(subPathExpr, variable => environment.get(variable)) : subPath;
  if (subPathExpr && path === undefined)
    throw refusal(
      `failed to expand subPathExpr ${JSON.stringify(subPathExpr)} for volumeMount ${JSON.stringify(name)} of container ${JSON.stringify(container)}`,
    );
  try {
    if (path) checkSubPath(path);
  } catch (error) {
    throw refusal(messageOf(error), error);
  }
  return path;
};
