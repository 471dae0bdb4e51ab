/** What is under way for one pod, and what comes after it. */
interface WriteQueue {
  running: Promise<unknown>;
  next: (() => Promise<void>) | undefined;
}

/**
 * The writes about waiting pods, one at a time for each pod: what is told of a pod in vain must never reach the server after it was bound. Of
 * several reports that wait only the last one is sent.
 */
export class PodWrites {
  readonly #queues = new Map<string, WriteQueue>();

  /** Sends a report as soon as the pod has no other write under way, unless a later one takes its place. `write` must not reject. */
  enqueue(uid: string, write: () => Promise<void>): void {
    const queue = this.#queues.get(uid);
    if (queue) queue.next = write;
    else this.#start(uid, write);
  }

  /** Runs the last write about a pod, after the one under way and instead of those that wait. */
  async runLast<T>(uid: string, write: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(uid);
    if (queue) {
      queue.next = undefined;
      await queue.running;
    }
    const running = write();
    const settled = running.then(() => {}, () => {});
    this.#start(uid, () => settled);
    return running;
  }

  #start(uid: string, write: () => Promise<void>): void {
    const queue: WriteQueue = {running: write(), next: undefined};
    this.#queues.set(uid, queue);
    const done = async (): Promise<void> => {
      await queue.running;
      if (this.#queues.get(uid) !== queue) return;
      if (queue.next) this.#start(uid, queue.next);
      else this.#queues.delete(uid);
    };
    void done();
  }
}
