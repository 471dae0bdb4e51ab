import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Yielder} from '#src/base/turn.js';
import type {Change} from './change.js';

/** Receives changes in order. */
export interface Listener<T extends KubeObject> {
  next(change: Change<T>): void;
  /** Receives many objects of the first list instead of their changes. Absent: it receives these. */
  readonly listed?: ((objects: readonly Frozen<T>[]) => void) | undefined;
  complete(): void;
}

/** A listener that may go before all is delivered. */
export interface Receiver<T extends KubeObject> extends Listener<T> {
  readonly closed: boolean;
}

/**
 * Delivers to a receiver the objects that were cached when it was added, in slices, and then all changes. Changes are
 * queued until all objects are delivered.
 */
export class Replay<T extends KubeObject> implements Listener<T> {
  readonly #receiver: Receiver<T>;
  readonly #objects: readonly Frozen<T>[];
  readonly #changes: Change<T>[] = [];
  #delivered = 0;
  #isOver = false;

  constructor(receiver: Receiver<T>, objects: readonly Frozen<T>[]) {
    this.#receiver = receiver;
    this.#objects = objects;
  }

  next(change: Change<T>): void {
    if (this.#isOver) this.#receiver.next(change);
    else this.#changes.push(change);
  }

  /** Undefined where the changes themselves are to be passed on, or kept. */
  get listed(): Listener<T>['listed'] {
    const {listed} = this.#receiver;
    return this.#isOver ? listed : undefined;
  }

  complete(): void {
    this.#receiver.complete();
  }

  /**
   * Delivers as much as one turn of the event loop has room for. Returns undefined if that is all, or a promise that
   * resolves after all, or once the subscription ends.
   */
  run(pieces: Yielder, clock: Clock): Promise<void> | undefined {
    const pause = this.#deliver(pieces);
    return pause && this.#goOnAfter(pause, pieces, clock);
  }

  async #goOnAfter(first: Promise<void>, pieces: Yielder, clock: Clock): Promise<void> {
    using _ = clock.hold();
    for (let pause: Promise<void> | undefined = first; pause; pause = this.#deliver(pieces)) await pause;
  }

  #deliver(pieces: Yielder): Promise<void> | undefined {
    const count = this.#objects.length;
    // A subscriber may cause changes meanwhile.
    for (; this.#delivered < count + this.#changes.length && !this.#receiver.closed; this.#delivered++) {
      const pause = pieces.pause();
      if (pause) return pause;
      this.#receiver.next(
        this.#delivered < count
          ? {type: 'added', object: this.#objects[this.#delivered]!, initial: true}
          : this.#changes[this.#delivered - count]!,
      );
    }
    this.#isOver = true;
    return undefined;
  }
}
