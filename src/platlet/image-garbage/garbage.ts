// Image garbage collection: unused images are removed when the disk fills up, or when they are old.

import {runEvery, type Clock} from '#src/base/clock.js';
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
}

/** Is notified of garbage collection. */
export interface ImageGarbageObserver {
  /** Called after an image was removed. */
  removed?(reason: 'space' | 'age'): void;
  /** Called with the ids of the remaining images and the time at which they were listed. */
  collected?(present: readonly string[], since: number): Promise<void>;
}

export interface ImageGarbageParts {
  readonly runtime: Pick<Runtime, 'images' | 'pods' | 'podStatus' | 'imageFilesystems' | 'removeImage'>;
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
  readonly firstDetected: number;
  readonly lastUsed: number;
  readonly bytes: number;
  readonly isPinned: boolean;
}

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
    const list = async (): Promise<void> => void (await this.#list());
    runEvery(clock, listMs, signal, () => list().catch((error: unknown) => log.v(2).info({err: error}, 'images could not be listed')));
    runEvery(clock, collectMs, signal, () => this.#collectReported());
  }

  /** The images of the last list, the largest first. */
  get images(): readonly Image[] {
    return this.#listed;
  }

  /** Removes images. Rejects with the text of an event if not enough space could be freed. */
  async collect(): Promise<void> {
    const {host, runtime, clock, settings, warn} = this.#parts;
    const begun = clock.now();
    await this.#removeOld(begun);
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
    const freed = await this.free(wanted, begun);
    if (freed >= wanted) return;
    const message = `Insufficient free disk space on the node's image filesystem (${percent}% of ${sizeText(capacity)} used). Failed to free sufficient space by deleting unused images (freed ${freed} bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.`;
    warn('FreeDiskSpaceFailed', message);
    throw new Error(message);
  }

  /** Removes unused images until `bytes` are free. Returns the number of bytes freed. */
  async free(wanted: number, now: number = this.#parts.clock.now()): Promise<number> {
    const {settings} = this.#parts;
    const inUse = await this.#detect(now);
    let freed = 0;
    for (const [id, record] of this.#unused(inUse)) {
      if (freed >= wanted) break;
      if (record.lastUsed >= now || now - record.firstDetected < settings.minAgeMs) continue;
      freed += await this.#remove(id, record, 'space');
    }
    return freed;
  }

  async #removeOld(now: number): Promise<void> {
    const {maxAgeMs} = this.#parts.settings;
    const inUse = await this.#detect(now);
    // Until the agent has run that long it does not know how long an image has been unused.
    if (maxAgeMs <= 0 || now - this.#startedAt <= maxAgeMs) return;
    for (const [id, record] of this.#unused(inUse))
      if (now - Math.max(record.lastUsed, record.firstDetected) > maxAgeMs) await this.#remove(id, record, 'age');
  }

  /** Returns the images that may be removed, the least recently used first. */
  #unused(inUse: ReadonlySet<string>): readonly (readonly [string, ImageRecord])[] {
    return [...this.#records]
      .filter(([id, {isPinned}]) => !inUse.has(id) && !isPinned)
      .sort(([, a], [, b]) => a.lastUsed - b.lastUsed || a.firstDetected - b.firstDetected);
  }

  async #remove(id: string, {bytes}: ImageRecord, reason: 'space' | 'age'): Promise<number> {
    const {runtime, log, observer} = this.#parts;
    try {
      await runtime.removeImage({image: id});
      this.#records.delete(id);
      observer.removed?.(reason);
      log.info({image: id, bytes}, 'removed an image to free bytes');
      return bytes;
    } catch (error) {
      log.error({image: id, err: error}, 'failed to remove an image');
      return 0;
    }
  }

  async #list(): Promise<readonly Image[]> {
    const images = [...(await this.#parts.runtime.images())];
    return (this.#listed = images.sort((a, b) => b.bytes - a.bytes));
  }

  /** Updates the records of images and their last use. Returns the ids of the images in use. */
  async #detect(now: number): Promise<ReadonlySet<string>> {
    const {runtime} = this.#parts;
    const images = await this.#list();
    const used = new Set<string>();
    for (const {containers} of await runtime.pods())
      for (const {image, imageRef, imageId} of containers) for (const name of [image.image, imageRef, imageId]) if (name) used.add(name);
    const inUse = new Set<string>();
    const present = new Set(images.map(({id}) => id));
    for (const {id, tags, digests, bytes, isPinned} of images) {
      const known = this.#records.get(id);
      const isUsed = [id, ...tags, ...digests].some(name => used.has(name));
      if (isUsed) inUse.add(id);
      this.#records.set(id, {firstDetected: known?.firstDetected ?? now, lastUsed: isUsed ? now : (known?.lastUsed ?? 0), bytes, isPinned});
    }
    for (const id of this.#records.keys()) if (!present.has(id)) this.#records.delete(id);
    return inUse;
  }

  async #collectNoted(): Promise<void> {
    const {clock, observer} = this.#parts;
    try {
      await this.collect();
    } finally {
      const since = clock.now();
      if (observer.collected)
        await observer.collected(
          (await this.#list()).map(({id}) => id),
          since,
        );
    }
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

/** Formats a size as messages show it: `9.8 GiB`. */
const sizeText = (bytes: number): string => {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1024 ** unit;
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
};
