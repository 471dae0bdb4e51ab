// Image garbage collection: unused images are removed when the disk fills up, or when they are old.

import {formatDuration} from '#src/api/duration.js';
import {runEvery, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Host} from '#src/platlet/host/host.js';
import type {Image} from '#src/platlet/runtime/images.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';

export interface ImageGarbageSettings {
  /**
   * The thresholds of image file system usage in percent: garbage collection starts above the high one and frees down
   * to the low one. 100: never.
   */
  readonly highPercent: number;
  readonly lowPercent: number;
  /** The minimum age of an image. */
  readonly minAgeMs: number;
  /** The maximum age of an unused image; 0: unlimited. */
  readonly maxAgeMs: number;
  /** Whether images are mounted as volumes; default no. */
  readonly mountsImages?: boolean;
  /** Whether the runtime keeps images apart by runtime handlers; default no. */
  readonly knowsHandlers?: boolean;
}

/** Is notified of garbage collection. */
export interface ImageGarbageObserver {
  /** Called after an image was removed. */
  removed?(reason: 'space' | 'age'): void;
  /** Called with the ids of the remaining images and the time at which they were listed. */
  collected?(present: readonly string[], since: number): Promise<void>;
}

export interface ImageGarbageParts {
  readonly runtime: Pick<Runtime, 'images' | 'pods' | 'podStatus' | 'imageFilesystems' | 'removeImage' | 'sandboxImage'>;
  readonly host: Pick<Host, 'space'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: ImageGarbageSettings;
  readonly observer: ImageGarbageObserver;
  readonly signal: AbortSignal;
  /** Records a warning about the node. */
  warn(reason: string, message: string): void;
}

const collectMs = 5 * 60_000;
const listMs = 30_000;

/** The record of an image. */
interface ImageRecord {
  readonly id: string;
  readonly firstDetected: number;
  readonly lastUsed: number;
  readonly bytes: number;
  readonly isPinned: boolean;
}

interface UnusedImage extends ImageRecord {
  /** The key of the record. */
  readonly key: string;
}

const mostBytes = Number.MAX_SAFE_INTEGER;

/** Formats errors. */
const listed = (errors: readonly unknown[]): string =>
  errors.length === 1 ? messageOf(errors[0]) : `[${errors.map(messageOf).join(', ')}]`;

/** The images of a node. */
export class ImageGarbage {
  readonly #parts: ImageGarbageParts;
  readonly #records = new Map<string, ImageRecord>();
  readonly #startedAt: number;
  #listed: readonly Image[] = [];
  #hasFailed = false;

  constructor(parts: ImageGarbageParts) {
    this.#parts = parts;
    this.#startedAt = parts.clock.now();
  }

  /** Collects periodically until the signal aborts. */
  start(): void {
    const {clock, signal, log} = this.#parts;
    const noted = (work: Promise<unknown>): Promise<void> =>
      work.then(
        () => {},
        (error: unknown) => log.v(2).info({err: error}, 'images could not be listed'),
      );
    // The age of images counts from the start, also if none is collected periodically.
    void withClockHeld(clock, () => noted(this.#detect(clock.now())));
    runEvery(clock, listMs, signal, () => noted(this.#list()));
    runEvery(clock, collectMs, signal, async () => {
      await noted(this.#detect(clock.now()));
      await this.#collectReported();
    });
  }

  /** The images of the last list, the largest first. */
  get images(): readonly Image[] {
    return this.#listed;
  }

  /** Removes images. Rejects with the text of an event if not enough space could be freed. */
  async collect(): Promise<void> {
    const {host, runtime, clock, settings, warn} = this.#parts;
    const begun = clock.now();
    const unused = await this.#removeOld(await this.#unused(begun), begun);
    const [filesystem] = (await runtime.imageFilesystems()).images;
    if (!filesystem) throw new Error('the runtime reports no file system of images');
    const {totalBytes: capacity, availableBytes} = await host.space(filesystem.mountpoint);
    if (capacity === 0) {
      warn('InvalidDiskCapacity', 'invalid capacity 0 on image filesystem');
      throw new Error('invalid capacity 0 on image filesystem');
    }
    const available = Math.min(availableBytes, capacity);
    const percent = 100 - Math.floor((available * 100) / capacity);
    if (percent < settings.highPercent) return;
    const wanted = Math.floor((capacity * (100 - settings.lowPercent)) / 100) - available;
    const freed = await this.#free(wanted, unused, begun);
    if (freed >= wanted) return;
    const message = `Insufficient free disk space on the node's image filesystem (${percent}% of ${sizeText(capacity)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    warn('FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes all unused images that are older than the minimum age. Rejects if a removal failed. */
  async removeUnused(): Promise<void> {
    const {clock, log} = this.#parts;
    log.info('Attempting to delete unused images');
    const begun = clock.now();
    await this.#free(mostBytes, await this.#unused(begun), begun);
    await this.#noteCollected();
  }

  /**
   * Removes unused images until `wanted` bytes are free. Returns the number of bytes freed; rejects if a removal
   * failed.
   */
  async #free(wanted: number, images: readonly UnusedImage[], now: number): Promise<number> {
    const {minAgeMs} = this.#parts.settings;
    const errors: unknown[] = [];
    let freed = 0;
    for (const image of images) {
      if (freed >= wanted) break;
      if (image.lastUsed >= now || now - image.firstDetected < minAgeMs) continue;
      try {
        await this.#remove(image, 'space');
        freed += image.bytes;
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0)
      throw new Error(`wanted to free ${wanted} bytes, but freed ${freed} bytes space with errors in image deletion: ${listed(errors)}`);
    return freed;
  }

  /** Removes images older than the maximum age. Returns the others. */
  async #removeOld(images: readonly UnusedImage[], now: number): Promise<readonly UnusedImage[]> {
    const {maxAgeMs} = this.#parts.settings;
    // Until the agent has run that long it does not know how long an image has been unused.
    if (maxAgeMs <= 0 || now - this.#startedAt <= maxAgeMs) return images;
    const errors: unknown[] = [];
    const left: UnusedImage[] = [];
    for (const image of images) {
      if (now - Math.max(image.lastUsed, image.firstDetected) <= maxAgeMs) left.push(image);
      else await this.#remove(image, 'age').catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0)
      throw new Error(
        `wanted to free images older than ${formatDuration(maxAgeMs)}, encountered errors in image deletion: ${listed(errors)}`,
      );
    return left;
  }

  /** Returns the images that may be removed, the least recently used first. */
  async #unused(now: number): Promise<readonly UnusedImage[]> {
    const inUse = await this.#detect(now);
    return [...this.#records]
      .filter(([key, {isPinned}]) => !inUse.has(key) && !isPinned)
      .map(([key, record]) => ({key, ...record}))
      .sort((a, b) => a.lastUsed - b.lastUsed || a.firstDetected - b.firstDetected);
  }

  async #remove({key, id, bytes}: UnusedImage, reason: 'space' | 'age'): Promise<void> {
    const {runtime, log, observer} = this.#parts;
    log.info({image: id, bytes}, 'Removing image to free bytes');
    await runtime.removeImage({image: id});
    this.#records.delete(key);
    observer.removed?.(reason);
  }

  async #list(): Promise<readonly Image[]> {
    const images = [...(await this.#parts.runtime.images())];
    return (this.#listed = images.sort((a, b) => b.bytes - a.bytes));
  }

  /** Updates the records of images and their last use. Returns the keys of the images in use. */
  async #detect(now: number): Promise<ReadonlySet<string>> {
    const images = await this.#list();
    const used = await this.#usedNames();
    const inUse = new Set<string>();
    const present = new Set(images.map(image => this.#keyOf(image.id, image.handler)));
    for (const {id, tags, digests, bytes, isPinned, handler} of images) {
      const key = this.#keyOf(id, handler);
      const known = this.#records.get(key);
      const isUsed = used.volumes.has(id) || [id, ...tags, ...digests].some(name => used.names.has(this.#keyOf(name, handler)));
      if (isUsed) inUse.add(key);
      const lastUsed = isUsed ? now : (known?.lastUsed ?? 0);
      this.#records.set(key, {id, firstDetected: known?.firstDetected ?? now, lastUsed, bytes, isPinned});
    }
    for (const key of this.#records.keys()) if (!present.has(key)) this.#records.delete(key);
    return inUse;
  }

  /** Returns the names of the images of containers, and those of images that are mounted as volumes. */
  async #usedNames(): Promise<{readonly names: ReadonlySet<string>; readonly volumes: ReadonlySet<string>}> {
    const {runtime, settings} = this.#parts;
    const names = new Set<string>();
    const volumes = new Set<string>();
    // Runtimes that do not pin it would have to pull it again for the next pod.
    const sandbox = await runtime.sandboxImage();
    if (sandbox !== undefined) names.add(sandbox);
    for (const {pod, containers} of await runtime.pods()) {
      for (const {image, imageRef, imageId} of containers)
        for (const name of [image.image, imageRef, imageId]) if (name) names.add(this.#keyOf(name, image.handler));
      if (!settings.mountsImages || containers.length === 0) continue;
      // Only the status of a container tells what it mounts.
      for (const {mounts = []} of (await runtime.podStatus(pod.uid)).containers)
        for (const {image} of mounts) if (image) volumes.add(image);
    }
    return {names, volumes};
  }

  /** Returns the key of an image, or of one by another name. */
  #keyOf(name: string, handler: string | undefined): string {
    return this.#parts.settings.knowsHandlers && handler ? `${name},${handler}` : name;
  }

  async #collectNoted(): Promise<void> {
    try {
      await this.collect();
    } finally {
      await this.#noteCollected();
    }
  }

  /** Reports the remaining images. */
  async #noteCollected(): Promise<void> {
    const {clock, observer} = this.#parts;
    const since = clock.now();
    if (!observer.collected) return;
    const images = await this.#list();
    await observer.collected(
      images.map(({id}) => id),
      since,
    );
  }

  async #collectReported(): Promise<void> {
    const {log, settings, warn} = this.#parts;
    if (settings.highPercent >= 100 && settings.maxAgeMs <= 0) return;
    try {
      await this.#collectNoted();
      this.#hasFailed = false;
    } catch (error) {
      log.error({err: error}, 'image garbage collection failed');
      // The first failure may be one of a starting node.
      if (this.#hasFailed) warn('ImageGCFailed', messageOf(error));
      this.#hasFailed = true;
    }
  }
}

const sizeUnits = ['KiB', 'MiB', 'GiB', 'TiB'] as const;

/** Formats a size as messages show it: `9.8 GiB`. */
const sizeText = (bytes: number): string => {
  const power = Math.min(sizeUnits.length, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${sizeUnits[power - 1]}`;
};
