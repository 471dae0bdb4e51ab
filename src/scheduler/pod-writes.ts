/** What is under way for one pod, and what comes after it. */
interface Line {
  running: Promise<unknown>;
  next: (() => Promise<void>) | undefined;
}

/**
 * The writes about waiting pods, one at a time for each pod: what is told of a pod in vain must never reach the server after it was bound. Of
 * several reports that wait only the last one is sent.
 */
export class PodWrites {
  readonly #lines = new Map<string, Line>();

  /** Sends a report as soon as the pod has no other write under way, unless a later one takes its place. `write` must not reject. */
  report(uid: string, write: () => Promise<void>): void {
    const line = this.#lines.get(uid);
    if (line) line.next = write;
    else this.#start(uid, write);
  }

  /** Runs the last write about a pod, after the one under way and instead of those that wait. */
  async conclude<T>(uid: string, write: () => Promise<T>): Promise<T> {
    const line = this.#lines.get(uid);
    if (line) {
      line.next = undefined;
      await line.running;
    }
    const running = write();
    const settled = running.then(() => {}, () => {});
    this.#start(uid, () => settled);
    return running;
  }

  #start(uid: string, write: () => Promise<void>): void {
    const line: Line = {running: write(), next: undefined};
    this.#lines.set(uid, line);
    const done = async (): Promise<void> => {
      await line.running;
      if (this.#lines.get(uid) !== line) return;
      if (line.next) this.#start(uid, line.next);
      else this.#lines.delete(uid);
    };
    void done();
  }
}
