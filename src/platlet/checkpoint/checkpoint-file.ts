// A file with the state of a resource manager in the data directory of the agent. It is written in the background; the
// newest state wins.

import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Host} from '#src/platlet/host/host.js';

export interface CheckpointFileParts {
  readonly host: Pick<Host, 'read' | 'writeFile' | 'rename' | 'removeFile'>;
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
}

const fileMode = 0o600;

/** Reads and writes the file. */
export class CheckpointFile {
  readonly #parts: CheckpointFileParts;
  /** The text that is to be written once the current write has ended. */
  #next: string | undefined;
  #writing: Promise<void> | undefined;

  constructor(parts: CheckpointFileParts) {
    this.#parts = parts;
  }

  get path(): string {
    return this.#parts.path;
  }

  /** Undefined if there is no file. */
  async read(): Promise<string | undefined> {
    return (await this.#parts.host.read(this.#parts.path))?.toString();
  }

  /** Replaces the content. A failure is logged, and mended by the next change. */
  write(text: string): void {
    this.#next = text;
    this.#writing ??= withClockHeld(this.#parts.clock, () => this.#drain());
  }

  /** Resolves when the last content is on disk, or could not be written. */
  async saved(): Promise<void> {
    await this.#writing;
  }

  async #drain(): Promise<void> {
    while (this.#next !== undefined) {
      const text = this.#next;
      this.#next = undefined;
      await this.#replace(text).catch((error: unknown) =>
        this.#parts.log.error({err: error, file: this.#parts.path}, 'failed to store state to checkpoint'),
      );
    }
    this.#writing = undefined;
  }

  async #replace(text: string): Promise<void> {
    const {host, path} = this.#parts;
    const temporary = `${path}.tmp`;
    await host.writeFile(temporary, text, fileMode);
    await host.rename(temporary, path);
  }
}
