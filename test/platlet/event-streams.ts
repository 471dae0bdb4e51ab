import {onAbort} from '#src/base/signals.js';
import type {EventFollower, Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerEvent} from '#src/platlet/runtime/state.js';

/** The streams of the events of a runtime in memory. */
export class EventStreams {
  /** Why no stream can be opened; undefined if one can. */
  error: Error | undefined;
  readonly #open = new Map<EventFollower, (error: Error) => void>();

  follow: Runtime['followEvents'] = async (follower, signal) => {
    follower.connected();
    if (this.error) throw this.error;
    const ended = new Promise<void>((resolve, reject) => {
      this.#open.set(follower, reject);
      onAbort(signal, resolve);
    });
    try {
      await ended;
    } finally {
      this.#open.delete(follower);
    }
  };

  send(event: ContainerEvent | undefined): void {
    for (const follower of this.#open.keys()) follower.received(event);
  }

  /** Ends all streams. */
  fail(error: Error): void {
    for (const end of this.#open.values()) end(error);
  }
}
