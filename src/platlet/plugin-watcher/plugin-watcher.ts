// Registers the plugins whose sockets are in a folder or in one of its subfolders.

import {join} from 'node:path';
import {runEvery, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {Host} from '#src/platlet/host/host.js';
import type {PluginHandlers} from './plugin-handler.js';
import {PluginSocket} from './plugin-socket.js';

export interface PluginWatcherParts {
  readonly folder: string;
  readonly handlers: PluginHandlers;
  readonly host: Pick<Host, 'list' | 'status' | 'makeFolder'>;
  readonly files: Pick<Files, 'watch'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Sockets are found by watches; these are only hints. */
const scanMs = 10_000;
const settleMs = 100;

/** What a folder has: the subfolders, and the sockets with a number that differs for a new socket at the same path. */
interface Found {
  readonly folders: string[];
  readonly sockets: Map<string, number>;
}

const scan = async (host: PluginWatcherParts['host'], folder: string, found: Found): Promise<Found> => {
  found.folders.push(folder);
  for (const name of await host.list(folder)) {
    if (name.startsWith('.')) continue;
    const path = join(folder, name);
    const status = await host.status(path);
    if (status?.kind === 'folder') await scan(host, path, found);
    else if (status?.kind === 'socket') found.sockets.set(path, status.modifiedAt);
  }
  return found;
};

/** Watches the folder. */
export class PluginWatcher {
  readonly #parts: PluginWatcherParts;
  readonly #sockets = new Map<string, PluginSocket>();
  readonly #watches = new Map<string, Disposable>();
  #scanning: Promise<void> = Promise.resolve();
  #settling: Disposable | undefined;

  constructor(parts: PluginWatcherParts) {
    this.#parts = parts;
  }

  /** Creates the folder if it is missing, and registers what is in it. Rejects if it cannot be created or read. */
  async start(): Promise<void> {
    const {host, folder, clock, signal} = this.#parts;
    await host.makeFolder(folder, 0o755);
    await this.#scan();
    runEvery(clock, scanMs, signal, () => this.#again());
    onAbort(signal, () => {
      this.#settling?.[Symbol.dispose]();
      for (const each of [...this.#watches.values(), ...this.#sockets.values()]) each[Symbol.dispose]();
    });
  }

  /** Returns the paths of the sockets of plugins that are registered, and of those that are to be. */
  paths(): {readonly registered: readonly string[]; readonly wanted: readonly string[]} {
    const where = (is: (socket: PluginSocket) => boolean): readonly string[] =>
      [...this.#sockets].flatMap(([path, socket]) => (is(socket) ? [path] : []));
    return {registered: where(({isRegistered}) => isRegistered), wanted: where(({isWanted}) => isWanted)};
  }

  /** Scans once the scan that is under way has ended. */
  #again(): Promise<void> {
    const {clock, log, folder} = this.#parts;
    return (this.#scanning = this.#scanning.then(() =>
      withClockHeld(clock, () => this.#scan()).catch((error: unknown) =>
        log.error({err: error, folder}, 'cannot read the folder of plugins'),
      ),
    ));
  }

  async #scan(): Promise<void> {
    const {host, folder, signal} = this.#parts;
    const {folders, sockets} = await scan(host, folder, {folders: [], sockets: new Map()});
    if (signal.aborted) return;
    this.#watch(folders);
    for (const path of sockets.keys()) if (!this.#sockets.has(path)) this.#sockets.set(path, new PluginSocket({...this.#parts, path}));
    for (const [path, socket] of this.#sockets) {
      if (socket.isOver && !sockets.has(path)) this.#sockets.delete(path);
      else socket.found(sockets.get(path));
    }
  }

  /** Watches these folders only. What changed before a watch began is found by one more scan. */
  #watch(folders: readonly string[]): void {
    for (const [folder, watch] of this.#watches) {
      if (folders.includes(folder)) continue;
      watch[Symbol.dispose]();
      this.#watches.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watches.has(folder)) continue;
      this.#watches.set(
        folder,
        this.#parts.files.watch(folder, () => this.#changed()),
      );
      this.#changed();
    }
  }

  #changed(): void {
    this.#settling ??= this.#parts.clock.schedule(settleMs, () => {
      this.#settling = undefined;
      return this.#again();
    });
  }
}
