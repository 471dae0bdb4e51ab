import type {Change, WatchQuery, Watcher} from '#src/storage/store.js';

/** One watch: it first delivers history up to the revision of the live watchers, then joins them. */
export class Watch {
  readonly query: WatchQuery;
  readonly #watcher: Watcher;
  /** Everything up to this revision was delivered. */
  #position: number;
  /** The last revision the watcher knows to be complete. */
  #reported = -1;
  #over = false;

  constructor(query: WatchQuery, watcher: Watcher) {
    this.query = query;
    this.#watcher = watcher;
    this.#position = query.after;
  }

  get position(): number {
    return this.#position;
  }

  get over(): boolean {
    return this.#over;
  }

  get wantsProgress(): boolean {
    return this.#watcher.progress !== undefined;
  }

  /** Returns whether the watcher should be notified of the progress to `notified`. */
  behind(notified: number): boolean {
    return this.#position <= notified && this.#reported < notified;
  }

  /** Delivers changes in the watch's range. Returns false once the watch is over. */
  deliver(changes: readonly Change[], upTo: number): boolean {
    if (this.#over) return false;
    const first = changes[0];
    // Only a watch that begins at a future revision can meet changes it must skip.
    const newer = first && first.revision <= this.#position ? changes.filter(change => change.revision > this.#position) : changes;
    this.#position = Math.max(this.#position, upTo);
    const last = newer.at(-1);
    if (!last) return true;
    // The first progress is always delivered: it marks the end of history.
    if (this.#reported >= 0) this.#reported = last.revision;
    return this.#guarded(() => this.#watcher.changes(newer));
  }

  progress(revision: number): boolean {
    if (this.#over || !this.behind(revision)) return !this.#over;
    this.#position = this.#reported = revision;
    return this.#guarded(() => this.#watcher.progress?.(revision));
  }

  /** Ends the watch and notifies the watcher. */
  end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#watcher.ended(error);
    } catch {
      // Nothing is left to notify.
    }
  }

  /** Ends the watch without notification. */
  cancel(): void {
    this.#over = true;
  }

  #guarded(call: () => void): boolean {
    try {
      call();
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
    }
    return !this.#over;
  }
}
