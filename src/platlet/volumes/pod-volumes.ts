// The volume manager of a node: desired volumes, mounted volumes, and the operations in between. Each volume has one
// operation at a time; failed ones are retried with backoff while the pod exists.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {unlessAborted} from '#src/base/signals.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {Host} from '#src/platlet/host/host.js';
import type {PodObjects} from '#src/platlet/objects/pod-objects.js';
import type {PodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import {PodRejected, type Rejection} from '#src/platlet/pod/admission/rejection.js';
import {lookMs, missingText, unusableText} from '#src/platlet/pod/missing-volumes.js';
import {MountTimeout, type PodVolumes} from '#src/platlet/pod/ports.js';
import type {UserNamespaces} from '#src/platlet/user-namespaces/user-namespaces.js';
import type {VolumeOperation} from './operation.js';
import type {MountedVolume} from './plugin.js';
import type {PodTokens} from './tokens.js';
import type {VolumeFolders} from './volume-folders.js';

export interface NodeVolumesParts {
  /** Returns the operation that mounts a volume of a pod. */
  operation(name: string): VolumeOperation;
  readonly folders: VolumeFolders;
  readonly host: Pick<Host, 'hold' | 'readStart'>;
  readonly objects: Pick<PodObjects, 'register' | 'unregister'>;
  readonly tokens: Pick<PodTokens, 'forget'>;
  /** The user namespaces of pods, whose ids are free once their volumes are gone. */
  readonly users?: Pick<UserNamespaces, 'release'> | undefined;
  readonly certificates: Pick<PodCertificates, 'track' | 'forget'>;
  readonly clock: Clock;
}

/** How long a sync of a pod waits for its volumes. */
const waitMs = 123_000;
const late = 'context deadline exceeded';

/**
 * Returns the names of the volumes used by the containers of a pod: as mounts, as devices, or for environment files.
 */
const usedVolumes = ({spec}: Frozen<Pod>): ReadonlySet<string> =>
  new Set(
    containersOf(spec as never).flatMap(({volumeMounts = [], volumeDevices = [], env = []}) => [
      ...[...volumeMounts, ...volumeDevices].map(({name}) => name),
      ...env.flatMap(({valueFrom}) => valueFrom?.fileKeyRef?.volumeName ?? []),
    ]),
  );

/** Returns the rejection of a pod whose volumes the node cannot have. */
const beyondLimit = (text: string): Rejection => ({
  reason: 'VolumeAttachmentLimitExceeded',
  message: `Node has reached its volume attachment limit, rejecting pod. ${text}`,
});

/** The volumes of a node's pods. */
export class NodeVolumes implements PodVolumes {
  readonly #parts: NodeVolumesParts;
  /** By pod uid, then by volume name. */
  readonly #pods = new Map<string, Map<string, VolumeOperation>>();

  constructor(parts: NodeVolumesParts) {
    this.#parts = parts;
  }

  track(pod: Frozen<Pod>): void {
    this.#parts.certificates.track(pod);
  }

  async mount(pod: Frozen<Pod>, signal: AbortSignal): Promise<void> {
    const {clock} = this.#parts;
    const operations = await withClockHeld(clock, () => this.#prepare(pod));
    const isLate = await this.#isLate(pod, operations, signal);
    const missing = operations.filter(({result}) => !result);
    const unusable = unusableText(missing);
    if (unusable !== undefined) throw new Error(unusable);
    // Volumes without a problem are given up because the pod ends.
    if (missing.length === 0 || !isLate) return;
    const text = missingText(missing);
    for (const operation of missing)
      if (await unlessAborted(operation.isBeyondLimit(), signal)) throw new PodRejected(beyondLimit(`${text}: ${late}`));
    throw new MountTimeout(`${text}: ${late}`);
  }

  /** Mounts volumes. Resolves with false when all are mounted or some cannot be resolved, with true after too long. */
  #isLate(pod: Frozen<Pod>, operations: readonly VolumeOperation[], signal: AbortSignal): Promise<boolean> {
    const {clock} = this.#parts;
    const timers: Disposable[] = [];
    const waiting = new Promise<boolean>((resolve, reject) => {
      timers.push(clock.schedule(waitMs, () => resolve(true)));
      const mounting = operations.map(async operation => {
        await operation.mounted(pod);
        const isUnresolved = !operation.result && operation.problem !== undefined;
        if (isUnresolved && timers.length === 1) timers.push(clock.schedule(lookMs, () => resolve(false)));
      });
      Promise.all(mounting).then(() => resolve(false), reject);
    });
    return unlessAborted(waiting, signal).finally(() => {
      for (const timer of timers.splice(0)) timer[Symbol.dispose]();
    });
  }

  async readFile(pod: Frozen<Pod>, volume: string, path: string, maxBytes: number): Promise<Buffer | undefined> {
    const {host} = this.#parts;
    const found = this.#pods.get(pod.metadata?.uid ?? '')?.get(volume)?.result;
    if (!found) throw new Error(`cannot find the volume ${JSON.stringify(volume)}`);
    try {
      // Containers can write to the volume, so it may contain malicious links.
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

  /** Returns the mounted volumes of a pod by name. */
  mounted(uid: string): ReadonlyMap<string, MountedVolume> {
    const operations = this.#pods.get(uid)?.values() ?? [];
    return new Map([...operations].flatMap(({name, result}) => (result ? [[name, result] as const] : [])));
  }

  async release(uid: string): Promise<boolean> {
    const {folders, objects, tokens, certificates, users} = this.#parts;
    const operations = [...(this.#pods.get(uid)?.values() ?? [])];
    for (const operation of operations) operation.stop();
    if (operations.some(({isBusy}) => isBusy) || !(await folders.empty(uid))) return false;
    for (const operation of operations) operation.released();
    this.#pods.delete(uid);
    objects.unregister(uid);
    tokens.forget(uid);
    certificates.forget(uid);
    await users?.release(uid);
    return true;
  }

  async sweep(isKnown: (uid: string) => boolean): Promise<void> {
    const {folders} = this.#parts;
    folders.sweep();
    for (const uid of await folders.pods()) if (!isKnown(uid) && (await this.release(uid))) await folders.remove(uid);
  }

  async #prepare(pod: Frozen<Pod>): Promise<readonly VolumeOperation[]> {
    const {folders, objects} = this.#parts;
    objects.register(pod);
    await folders.make(pod.metadata?.uid ?? '');
    return this.#operationsOf(pod);
  }

  #operationsOf(pod: Frozen<Pod>): VolumeOperation[] {
    const uid = pod.metadata?.uid ?? '';
    const used = usedVolumes(pod);
    const operations = this.#pods.get(uid) ?? new Map<string, VolumeOperation>();
    this.#pods.set(uid, operations);
    for (const {name} of pod.spec?.volumes ?? [])
      if (used.has(name) && !operations.has(name)) operations.set(name, this.#parts.operation(name));
    return [...operations.values()];
  }
}
