/** The write in progress for one pod, and the next one. */
interface WriteQueue {
  running: Promise<unknown>;
  next: (() => Promise<void>) | undefined;
}

/**
 * Serializes the status writes of each pending pod: a failure must never reach the server after the pod was bound. Of
 * several waiting reports only the last one is sent.
 */
export class PodWrites {
  readonly #queues = new Map<string, WriteQueue>();

  /**
   * Sends a report once the pod has no other write in progress, unless a later one replaces it. `write` must not
   * reject.
   */
  enqueue(uid: string, write: () => Promise<void>): void {
    const queue = this.#queues.get(uid);
    if (queue) queue.next = write;
    else this.#start(uid, write);
  }

  /** Runs the last write of a pod, after the one in progress and instead of waiting ones. */
  async runLast<T>(uid: string, write: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(uid);
    if (queue) {
      queue.next = undefined;
      await queue.running;
    }
    const running = write();
    const settled = running.then(
      () => {},
      () => {},
    );
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
