// The rotation of the logs of running containers.

import {basename, dirname, join} from 'node:path';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Host} from '#src/platlet/host/host.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';

export interface LogRotationSettings {
  /** The size at which a log is rotated; 0 or less: never. */
  readonly maxBytes: number;
  /** The maximum number of log files of a container; at least two. */
  readonly maxFiles: number;
  readonly periodMs: number;
  /** The number of concurrent rotations. */
  readonly workers: number;
}

export interface LogRotationParts {
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<Runtime, 'pods' | 'containerStatus' | 'reopenLog'>;
  readonly settings: LogRotationSettings;
  readonly signal: AbortSignal;
}

/** Formats a time as in the names of rotated files: `20060102-150405`. */
const stampOf = (ms: number): string => new Date(ms).toISOString().replace(/\..*/, '').replaceAll(/[-:]/g, '').replace('T', '-');

/** Rotates the logs of a node's containers. */
export class LogRotation {
  readonly #parts: LogRotationParts;

  constructor(parts: LogRotationParts) {
    this.#parts = parts;
  }

  /** Rotates periodically until the signal aborts. */
  start(): void {
    const {clock, signal, log, settings} = this.#parts;
    if (settings.maxBytes <= 0) return;
    runEvery(clock, settings.periodMs, signal, () =>
      this.rotate().catch((error: unknown) => log.error({err: error}, 'failed to rotate container logs')),
    );
  }

  /** Rotates the logs that exceed the size. */
  async rotate(): Promise<void> {
    const {runtime, settings} = this.#parts;
    const ids = (await runtime.pods()).flatMap(({containers}) => containers.flatMap(({id, state}) => (state === 'running' ? [id] : [])));
    const work = async (): Promise<void> => {
      for (let id = ids.pop(); id !== undefined; id = ids.pop()) await this.#rotateReported(id);
    };
    await Promise.all(Array.from({length: Math.min(settings.workers, ids.length)}, work));
  }

  async #rotateReported(id: string): Promise<void> {
    try {
      await this.#rotateOne(id);
    } catch (error) {
      this.#parts.log.error({container: id, err: error}, 'failed to rotate log for container');
    }
  }

  async #rotateOne(id: string): Promise<void> {
    const {host, runtime, settings} = this.#parts;
    const {logPath, state} = await runtime.containerStatus(id);
    if (!logPath || state !== 'running') return;
    const status = await host.status(logPath);
    if (!status) return runtime.reopenLog(id);
    if (status.bytes < settings.maxBytes) return;
    await this.#tidy(logPath);
    await this.#renew(id, logPath);
  }

  /** Removes the oldest rotated files and compresses the others. */
  async #tidy(path: string): Promise<void> {
    const {host, settings} = this.#parts;
    const folder = dirname(path);
    const prefix = `${basename(path)}.`;
    const rotated: string[] = [];
    for (const name of await host.list(folder)) {
      if (!name.startsWith(prefix)) continue;
      if (name.endsWith('.tmp')) await host.removeFile(join(folder, name));
      // If compression was interrupted before the original was removed, the file exists twice.
      else if (!name.endsWith('.gz') && (await host.status(join(folder, `${name}.gz`)))) await host.removeFile(join(folder, name));
      else rotated.push(name);
    }
    const kept = Math.max(0, settings.maxFiles - 2);
    const excess = rotated.slice(0, Math.max(0, rotated.length - kept));
    for (const name of excess) await host.removeFile(join(folder, name));
    for (const name of rotated.slice(excess.length)) {
      if (name.endsWith('.gz')) continue;
      const from = join(folder, name);
      await host.compress(from, `${from}.tmp`);
      await host.rename(`${from}.tmp`, `${from}.gz`);
      await host.removeFile(from);
    }
  }

  /** Makes the container reopen its log in a new file. */
  async #renew(id: string, path: string): Promise<void> {
    const {host, runtime, clock} = this.#parts;
    const rotated = `${path}.${stampOf(clock.now())}`;
    await host.rename(path, rotated);
    try {
      await runtime.reopenLog(id);
    } catch (error) {
      await host.rename(rotated, path);
      throw error;
    }
  }
}
