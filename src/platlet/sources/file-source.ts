import {lstat, readdir, readFile, stat} from 'node:fs/promises';
import {join} from 'node:path';
import type {Pod} from '#src/api/pod.js';
import {withClockHeld, runEvery, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import {parseManifest} from './manifest.js';
import type {Deliver, PodSource} from './source.js';
import {staticPod, type StaticPodSettings} from './static-pod.js';

/** The maximum size of a manifest. */
const maxBytes = 10 << 20;
const settleMs = 100;
const firstRetryMs = 1_000;
const maxRetryMs = 20_000;

export interface FileSourceParts {
  /** A file or a directory of files. */
  readonly path: string;
  readonly checkMs: number;
  readonly settings: StaticPodSettings;
  readonly files: Pick<Files, 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Reads static pods from a file or directory, and again on changes. */
class FileSource implements PodSource {
  readonly name = 'file';
  readonly #parts: FileSourceParts;
  #deliver: Deliver = () => {};
  #reading: Promise<void> = Promise.resolve();
  #watch: Disposable | undefined;
  #retryMs = firstRetryMs;
  #settling: Disposable | undefined;

  constructor(parts: FileSourceParts) {
    this.#parts = parts;
  }

  start(deliver: Deliver): void {
    this.#deliver = deliver;
    const {clock, checkMs, signal} = this.#parts;
    this.#read();
    this.#follow();
    runEvery(clock, checkMs, signal, () => this.#read());
    onAbort(signal, () => {
      this.#watch?.[Symbol.dispose]();
      this.#settling?.[Symbol.dispose]();
    });
  }

  /** Watches the path; a missing one is retried with backoff. */
  #follow(): void {
    const {files, path, clock, signal} = this.#parts;
    stat(path).then(
      () => {
        if (signal.aborted) return;
        this.#retryMs = firstRetryMs;
        this.#watch?.[Symbol.dispose]();
        this.#watch = files.watch(path, () => {
          this.#settling?.[Symbol.dispose]();
          this.#settling = clock.schedule(settleMs, () => this.#read());
        });
      },
      () => {
        if (signal.aborted) return;
        this.#settling = clock.schedule(this.#retryMs, () => this.#follow());
        this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs);
      },
    );
  }

  #read(): void {
    const {clock, log, path, signal} = this.#parts;
    this.#reading = this.#reading.then(() =>
      withClockHeld(clock, async () => {
        try {
          const pods = await this.#all();
          if (pods && !signal.aborted) this.#deliver(pods);
        } catch (error) {
          log.error({path, err: error}, 'unable to read config path');
        }
      }),
    );
  }

  /** Returns the pods; undefined if the path is missing. */
  async #all(): Promise<readonly Pod[] | undefined> {
    const {path} = this.#parts;
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    // A missing path counts as empty.
    if (!found) return [];
    if (!found.isDirectory()) return [await this.#one(path)];
    const pods: Pod[] = [];
    for (const name of (await readdir(path)).sort()) {
      if (name.startsWith('.')) continue;
      const file = join(path, name);
      try {
        if (!(await lstat(file)).isDirectory() && (await stat(file)).isFile()) pods.push(await this.#one(file));
      } catch (error) {
        this.#parts.log.error({path: file, err: error}, 'could not process manifest file');
      }
    }
    return pods;
  }

  async #one(path: string): Promise<Pod> {
    const {size} = await stat(path);
    if (size > maxBytes) throw new Error(`the manifest has more than ${maxBytes} bytes`);
    const value = await parseManifest(await readFile(path, 'utf8'));
    return staticPod(value, {is: 'file', place: path}, this.#parts.settings);
  }
}

export const fileSource = (parts: FileSourceParts): PodSource => new FileSource(parts);
