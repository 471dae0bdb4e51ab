// The volumes of a node's pods: what is wanted, what is there, and the operations between the two. Each volume has one operation at a time; one that fails is
// tried again with backoff, as long as the pod is there.

import {join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {AnyContainer, Pod, VolumeMount} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {held, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {unlessAborted} from '#src/base/signals.js';
import {containersOf} from '#src/model/pod/containers.js';
import {expand} from '#src/model/pod/expansion.js';
import {pluginOfFolder, type NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, removeUnmounted, type Host} from '#src/platlet/host/host.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import {WaitingError, type PodVolumes} from '#src/platlet/pod/ports.js';
import type {MountConfig} from '#src/platlet/runtime/configs.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Claims} from './claims.js';
import type {PodTokens} from './tokens.js';
import {VolumeOperation, type OperationParts} from './operation.js';
import {checkSubPath, prepareSubPath} from './sub-paths.js';
import type {VolumePlugin} from './plugin.js';

export interface NodeVolumesParts {
  readonly naming: Naming;
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly plugins: readonly VolumePlugin[];
  readonly claims: Pick<Claims, 'of'>;
  readonly objects: Pick<PodObjects, 'register' | 'unregister'>;
  readonly tokens: Pick<PodTokens, 'forget'>;
  /** Returns the Node; undefined while it is not known. */
  node(): Frozen<Node> | undefined;
  /** Whether the runtime of a pod can mount read-only all that is below a mount. */
  mountsRecursively(pod: Frozen<Pod>): Promise<boolean>;
  readonly signal: AbortSignal;
}

/** How long a pod waits for its volumes before that is an event. */
const waitMs = 123_000;
const podMode = 0o750;

const propagations = {HostToContainer: 'host-to-container', Bidirectional: 'bidirectional', None: 'private'} as const;

/** Returns the names of the volumes that containers of a pod use: mounted, as devices, or for variables in their files. */
const usedVolumes = ({spec}: Frozen<Pod>): ReadonlySet<string> =>
  new Set(
    containersOf(spec as never).flatMap(({volumeMounts = [], volumeDevices = [], env = []}) => [
      ...[...volumeMounts, ...volumeDevices].map(({name}) => name),
      ...env.flatMap(({valueFrom}) => valueFrom?.fileKeyRef?.volumeName ?? []),
    ]),
  );

/** Returns a list as messages have it. */
const listed = (names: readonly string[]): string => `[${names.join(' ')}]`;

/** The volumes of a node's pods. */
export class NodeVolumes implements PodVolumes {
  readonly #parts: NodeVolumesParts;
  /** By pod, then by the name in the pod. */
  readonly #pods = new Map<string, Map<string, VolumeOperation>>();

  constructor(parts: NodeVolumesParts) {
    this.#parts = parts;
  }

  async mount(pod: Frozen<Pod>, signal: AbortSignal): Promise<void> {
    const {clock} = this.#parts;
    const operations = await held(clock, () => this.#prepare(pod));
    const all = Promise.all(operations.map(operation => operation.mounted(pod)));
    all.catch(() => {});
    const late = Symbol('late');
    let timer: Disposable | undefined;
    const limit = new Promise<symbol>(resolve => (timer = clock.schedule(waitMs, () => resolve(late))));
    try {
      if ((await unlessAborted(Promise.race([all, limit]), signal)) !== late) return;
    } finally {
      timer?.[Symbol.dispose]();
    }
    throw new Error(this.#lateText(operations));
  }

  async mountsOf(
    pod: Frozen<Pod>,
    container: Frozen<AnyContainer>,
    environment: ReadonlyMap<string, string>,
  ): Promise<readonly MountConfig[]> {
    const mounts: MountConfig[] = [];
    for (const [index, mount] of (container.volumeMounts ?? []).entries())
      mounts.push(await this.#mountOf(pod, container, {mount, index, environment}));
    return mounts;
  }

  groupsOf(pod: Frozen<Pod>): readonly number[] {
    const operations = this.#pods.get(pod.metadata?.uid ?? '')?.values() ?? [];
    return [...new Set([...operations].flatMap(({result}) => result?.groups ?? []))];
  }

  async readFile(pod: Frozen<Pod>, volume: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
    const {host} = this.#parts;
    const found = this.#pods.get(pod.metadata?.uid ?? '')?.get(volume)?.result;
    if (!found) throw new Error(`cannot find the volume ${JSON.stringify(volume)}`);
    try {
      // Containers can write to it, and so put links into it.
      using file = await host.hold(found.path, path.split('/').filter(Boolean));
      if (file.kind !== 'file') throw new Error(`${path} is no file`);
      const content = await host.readStart(file.path, maxBytes + 1);
      if (content.length > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
      return content;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Returns where the volumes of a pod are that are mounted, by their names. */
  pathsOf(uid: string): ReadonlyMap<string, string> {
    const operations = this.#pods.get(uid)?.values() ?? [];
    return new Map([...operations].flatMap(({name, result}) => (result ? [[name, result.path] as const] : [])));
  }

  async release(uid: string): Promise<boolean> {
    const {host, folders, log, objects, tokens} = this.#parts;
    const operations = [...(this.#pods.get(uid)?.values() ?? [])];
    for (const operation of operations) operation.stop();
    if (operations.some(({isBusy}) => isBusy)) return false;
    try {
      // What is mounted comes first: to remove a folder that is one would remove what others have there.
      for (const {path} of await mountsBelow(host, folders.pod(uid))) await host.unmount(path);
      for (const folder of [folders.subPaths(uid), folders.volumes(uid), join(folders.pod(uid), 'plugins')])
        await removeUnmounted(host, folder);
    } catch (error) {
      log.error({pod: uid, err: error}, 'volumes of a pod could not be removed');
      return false;
    }
    this.#pods.delete(uid);
    objects.unregister(uid);
    tokens.forget(uid);
    return true;
  }

  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const {host, folders, log} = this.#parts;
    for (const uid of await host.list(folders.pods)) {
      if (isKnown(uid) || !(await this.release(uid))) continue;
      if ((await mountsBelow(host, folders.pod(uid))).length > 0) {
        log.error({pod: uid}, `orphaned pod ${JSON.stringify(uid)} found, but volume paths are still present on disk`);
        continue;
      }
      await host.removeTree(folders.pod(uid));
    }
  }

  /** Returns the volumes on the disk, of known pods and of others: by pod, the plugins and names. */
  async present(): Promise<ReadonlyMap<string, readonly (readonly [plugin: string, name: string])[]>> {
    const {host, folders} = this.#parts;
    const found = new Map<string, (readonly [string, string])[]>();
    for (const uid of await host.list(folders.pods)) {
      const volumes: (readonly [string, string])[] = [];
      for (const folder of await host.list(folders.volumes(uid))) {
        const plugin = pluginOfFolder(folder);
        if (plugin !== undefined) for (const name of await host.list(join(folders.volumes(uid), folder))) volumes.push([plugin, name]);
      }
      found.set(uid, volumes);
    }
    return found;
  }

  async #prepare(pod: Frozen<Pod>): Promise<readonly VolumeOperation[]> {
    const {host, folders, objects} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    objects.register(pod);
    for (const folder of [folders.pod(uid), folders.volumes(uid), join(folders.pod(uid), 'plugins')])
      await host.makeFolder(folder, podMode);
    return this.#operationsOf(pod);
  }

  #operationsOf(pod: Frozen<Pod>): VolumeOperation[] {
    const uid = pod.metadata?.uid ?? '';
    const used = usedVolumes(pod);
    const operations = this.#pods.get(uid) ?? new Map<string, VolumeOperation>();
    this.#pods.set(uid, operations);
    const parts: OperationParts = this.#parts;
    for (const {name} of pod.spec?.volumes ?? [])
      if (used.has(name) && !operations.has(name)) operations.set(name, new VolumeOperation(parts, name));
    return [...operations.values()];
  }

  #lateText(operations: readonly VolumeOperation[]): string {
    const missing = operations.filter(({result}) => !result);
    const unprocessed = missing.filter(({isProcessed}) => !isProcessed);
    return `Unable to attach or mount volumes: unmounted volumes=${listed(missing.map(({name}) => name))}, unattached volumes=[], failed to process volumes=${listed(unprocessed.map(({name}) => name))}: timed out waiting for the condition`;
  }

  async #mountOf(
    pod: Frozen<Pod>,
    container: Frozen<AnyContainer>,
    {mount, index, environment}: {mount: Frozen<VolumeMount>; index: number; environment: ReadonlyMap<string, string>},
  ): Promise<MountConfig> {
    const refuse = (message: string, cause?: unknown): WaitingError => new WaitingError('CreateContainerConfigError', message, {cause});
    const quoted = [mount.name, container.name].map(name => JSON.stringify(name));
    const uid = pod.metadata?.uid ?? '';
    const volume = this.#pods.get(uid)?.get(mount.name)?.result;
    if (!volume) throw refuse(`cannot find volume ${quoted[0]} to mount into container ${quoted[1]}`);
    const readonly = mount.readOnly === true || volume.isReadonly === true;
    const recursiveReadonly = await this.#isRecursive(pod, mount, refuse);
    let hostPath = volume.path;
    const subPath = mount.subPathExpr ? expand(mount.subPathExpr, name => environment.get(name)) : mount.subPath;
    if (mount.subPathExpr && subPath === undefined)
      throw refuse(
        `failed to expand subPathExpr ${JSON.stringify(mount.subPathExpr)} for volumeMount ${quoted[0]} of container ${quoted[1]}`,
      );
    if (subPath) {
      try {
        checkSubPath(subPath);
      } catch (error) {
        throw refuse(messageOf(error), error);
      }
      hostPath = await this.#subPath(
        {uid, volumePath: volume.path, path: subPath, volume: mount.name, container: container.name, index},
        refuse,
      );
    }
    return {
      containerPath: mount.mountPath.startsWith('/') ? mount.mountPath : `/${mount.mountPath}`,
      hostPath,
      readonly,
      ...(recursiveReadonly ? {recursiveReadonly} : {}),
      propagation: propagations[(mount.mountPropagation ?? 'None') as keyof typeof propagations],
    };
  }

  /** Whether all that is below a mount is to be read-only, too. */
  async #isRecursive(
    pod: Frozen<Pod>,
    {name, readOnly, recursiveReadOnly: mode = 'Disabled', mountPropagation: propagation = 'None'}: Frozen<VolumeMount>,
    refuse: (message: string) => WaitingError,
  ): Promise<boolean> {
    if (mode === 'Disabled') return false;
    const what = `volume ${JSON.stringify(name)} requested recursive read-only mode, but it is not`;
    if (!readOnly) throw refuse(`${what} read-only`);
    if (propagation !== 'None') throw refuse(`${what} compatible with propagation ${JSON.stringify(propagation)}`);
    const isAble = await this.#parts.mountsRecursively(pod);
    if (mode === 'Enabled' && !isAble) throw refuse(`${what} supported by the runtime`);
    return isAble;
  }

  async #subPath(sub: Parameters<typeof prepareSubPath>[2], refuse: (message: string, cause: unknown) => WaitingError): Promise<string> {
    const {host, folders, log} = this.#parts;
    try {
      return await prepareSubPath(host, folders, sub);
    } catch (error) {
      // The details would say what is on the host.
      log.error({container: sub.container, volume: sub.volume, err: error}, 'failed to prepare subPath for volumeMount of the container');
      throw refuse(
        `failed to prepare subPath for volumeMount ${JSON.stringify(sub.volume)} of container ${JSON.stringify(sub.container)}`,
        error,
      );
    }
  }
}
