import type {Change, WatchQuery, Watcher} from '#src/storage/store.js';

/** One watch: it first reads history up to what the live watchers were told, then joins them. */
export class Watch {
  readonly query: WatchQuery;
  readonly #watcher: Watcher;
  /** Everything up to here was told. */
  #position: number;
  /** What the watcher knows to have been told up to. */
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

  /** Whether the watcher does not know yet that everything up to `told` was told. */
  behind(notified: number): boolean {
    return this.#position <= notified && this.#reported < notified;
  }

  /** Tells changes that lie in the watch's range. Returns false once the watch is over. */
  deliver(changes: readonly Change[], upTo: number): boolean {
    if (this.#over) return false;
    const first = changes[0];
    // Only a watch that was asked to begin in the future can meet changes it must not tell.
    const newer = first && first.revision <= this.#position ? changes.filter(change => change.revision > this.#position) : changes;
    this.#position = Math.max(this.#position, upTo);
    const last = newer.at(-1);
    if (!last) return true;
    // The first progress comes in any case: it tells that history is over.
    if (this.#reported >= 0) this.#reported = last.revision;
    return this.#guarded(() => this.#watcher.changes(newer));
  }

  progress(revision: number): boolean {
    if (this.#over || !this.behind(revision)) return !this.#over;
    this.#position = this.#reported = revision;
    return this.#guarded(() => this.#watcher.progress?.(revision));
  }

  /** Ends the watch, telling the watcher. */
  end(error?: Error): void {
    if (this.#over) return;
    this.#over = true;
    try {
      this.#watcher.ended(error);
    } catch {
      // A watcher that fails even here has nobody left to tell.
    }
  }

  /** Ends the watch in silence. */
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
