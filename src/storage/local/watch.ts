import type {WatchQuery, Watcher} from '#src/storage/store.js';
import type {EngineChange} from './engine.js';

/** One watch: it first delivers history up to the revision of the live watchers, then joins them. */
export class Watch {
  readonly query: WatchQuery;
  readonly #watcher: Watcher;
  /** Everything up to this revision was delivered. */
  #position: number;
  /** The last revision the watcher knows to be complete. */
  #reported = -1;
  #over = false;
  /** What the watcher returned for the last changes: history waits for it. */
  #pressure: Promise<void> | undefined;

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

  get pressure(): Promise<void> | undefined {
    return this.#pressure;
  }

  get wantsProgress(): boolean {
    return this.#watcher.progress !== undefined;
  }

  /** Returns whether the watcher should be notified of the progress to `notified`. */
  behind(notified: number): boolean {
    return this.#position <= notified && this.#reported < notified;
  }

  /** Delivers changes in the watch's range; an unreadable one ends the watch. Returns false once the watch is over. */
  deliver(changes: readonly EngineChange[], upTo: number): boolean {
    const damaged = changes.find(({damage, revision}) => damage && revision > this.#position);
    if (!damaged) return this.#deliver(changes, upTo);
    if (this.#deliver(changes.slice(0, changes.indexOf(damaged)), damaged.revision - 1)) this.end(damaged.damage);
    return false;
  }

  #deliver(changes: readonly EngineChange[], upTo: number): boolean {
    if (this.#over) return false;
    const first = changes[0];
    // Only a watch that begins at a future revision can meet changes it must skip.
    const newer = first && first.revision <= this.#position ? changes.filter(change => change.revision > this.#position) : changes;
    this.#position = Math.max(this.#position, upTo);
    const last = newer.at(-1);
    if (!last) return true;
    // The first progress is always delivered: it marks the end of history.
    if (this.#reported >= 0) this.#reported = last.revision;
    return this.#guarded(() => {
      const taken = this.#watcher.changes(newer);
      this.#pressure = taken instanceof Promise ? taken : undefined;
    });
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
