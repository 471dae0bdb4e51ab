// Periodic measurement of the usage of pod volumes.

import type {Frozen} from '#src/api/key.js';
import type {FilesystemStats, VolumeStats} from '#src/api/node/stats.js';
import type {Pod, Volume} from '#src/api/pod.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {isLocalEphemeral} from '#src/platlet/eviction/pod-usage.js';
import type {Host, Space} from '#src/platlet/host/host.js';
import type {MeasuredVolume, MountedVolume} from '#src/platlet/volumes/plugin.js';
import {diskUsage} from './disk-usage.js';

export interface VolumeStatsParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly host: Pick<Host, 'space'>;
  /** The period of measurements; negative: never. */
  readonly periodMs: number;
  readonly signal: AbortSignal;
  pods(): readonly Frozen<Pod>[];
  /** Returns the mounted volumes of a pod, by their names. */
  mounted(uid: string): ReadonlyMap<string, Pick<MountedVolume, 'path' | 'measure'>>;
  /** Called with each measured volume that is not in order. */
  abnormal?(pod: Frozen<Pod>, volume: string, message: string): void;
}

/** Returns the space of a file system as statistics. */
export const spaceStats = ({totalBytes, availableBytes, inodes, inodesFree}: Space): FilesystemStats => ({
  capacityBytes: totalBytes,
  availableBytes,
  usedBytes: totalBytes - availableBytes,
  inodes,
  inodesFree,
  inodesUsed: inodes - inodesFree,
});

/** Caches the usage of the volumes of a node's pods. */
export class VolumeUsage {
  readonly #parts: VolumeStatsParts;
  #measured = new Map<string, readonly VolumeStats[]>();

  constructor(parts: VolumeStatsParts) {
    this.#parts = parts;
    const {clock, periodMs, signal, log} = parts;
    if (periodMs <= 0) return;
    runEvery(clock, periodMs, signal, () =>
      this.measure().catch((error: unknown) => log.warn({err: error}, 'failed to measure the volumes of pods')),
    );
  }

  /** Returns the last measurements of the volumes of a pod. */
  of(uid: string): readonly VolumeStats[] {
    return this.#measured.get(uid) ?? [];
  }

  /** The measurements by pod uid. */
  get all(): ReadonlyMap<string, readonly VolumeStats[]> {
    return this.#measured;
  }

  /** Measures all volumes, one at a time. */
  async measure(): Promise<void> {
    const {pods, signal} = this.#parts;
    const measured = new Map<string, readonly VolumeStats[]>();
    for (const pod of pods()) {
      if (signal.aborted) return;
      const found = await this.#volumesOf(pod);
      if (found.length > 0) measured.set(pod.metadata?.uid ?? '', found);
    }
    this.#measured = measured;
  }

  async #volumesOf(pod: Frozen<Pod>): Promise<readonly VolumeStats[]> {
    const mounted = this.#parts.mounted(pod.metadata?.uid ?? '');
    const measured: VolumeStats[] = [];
    for (const volume of pod.spec?.volumes ?? []) {
      const known = mounted.get(volume.name);
      // A host path does not belong to the pod.
      if (known === undefined || volume.hostPath) continue;
      const found = await this.#measure(known, isOwnFileSystem(volume)).catch(() => undefined);
      if (!found) continue;
      const {health, ...usage} = found;
      if (health?.abnormal) this.#parts.abnormal?.(pod, volume.name, health.message);
      const claim = volume.persistentVolumeClaim?.claimName ?? (volume.ephemeral ? `${pod.metadata?.name}-${volume.name}` : undefined);
      measured.push({
        name: volume.name,
        isEphemeral: isLocalEphemeral(volume),
        ...(claim === undefined ? {} : {claim}),
        ...usage,
        ...(health ? {isAbnormal: health.abnormal} : {}),
      });
    }
    return measured;
  }

  async #measure({path, measure}: Pick<MountedVolume, 'path' | 'measure'>, isOwn: boolean): Promise<MeasuredVolume | undefined> {
    const {clock, host, signal} = this.#parts;
    if (measure) {
      const found = await measure();
      return found && {...found, at: clock.now()};
    }
    const space = {...spaceStats(await host.space(path)), at: clock.now()};
    if (isOwn) return space;
    const used = await diskUsage(path, signal);
    return used && {...space, usedBytes: used.bytes, inodesUsed: used.inodes};
  }
}

/** Whether a volume is a separate file system, whose usage is that of the volume. */
const isOwnFileSystem = ({persistentVolumeClaim, ephemeral, emptyDir}: Frozen<Volume>): boolean =>
  Boolean(persistentVolumeClaim || ephemeral || emptyDir?.medium);
