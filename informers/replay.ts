import type {Subscriber} from 'rxjs';
import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import type {Yielder} from '#src/base/turn.js';
import type {Change} from './change.js';

/** Receives changes in order. */
export interface Listener<T extends KubeObject> {
  next(change: Change<T>): void;
  complete(): void;
}

/**
 * Delivers to a subscriber the objects that were cached when it was added, in slices, and then all changes. Changes are
 * queued until all objects are delivered.
 */
export class Replay<T extends KubeObject> implements Listener<T> {
  readonly #subscriber: Subscriber<Change<T>>;
  readonly #objects: readonly Frozen<T>[];
  readonly #changes: Change<T>[] = [];
  #delivered = 0;
  #isOver = false;

  constructor(subscriber: Subscriber<Change<T>>, objects: readonly Frozen<T>[]) {
    this.#subscriber = subscriber;
    this.#objects = objects;
  }

  next(change: Change<T>): void {
    if (this.#isOver) this.#subscriber.next(change);
    else this.#changes.push(change);
  }

  complete(): void {
    this.#subscriber.complete();
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
    for (; this.#delivered < count + this.#changes.length && !this.#subscriber.closed; this.#delivered++) {
      const pause = pieces.pause();
      if (pause) return pause;
      this.#subscriber.next(
        this.#delivered < count
          ? {type: 'added', object: this.#objects[this.#delivered]!, initial: true}
          : this.#changes[this.#delivered - count]!,
      );
    }
    this.#isOver = true;
    return undefined;
  }
}
