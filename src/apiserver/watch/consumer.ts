import type {EncodedEvent, WatchSink} from '#src/api/request.js';

/** The consumer of one watch, and what it has got. */
export class Consumer {
  readonly #sink: WatchSink;
  readonly #count: () => void;
  #hasFirst = false;
  #sent = 0;
  #isFull = false;

  /** `count` is called for each event. */
  constructor(sink: WatchSink, count: () => void) {
    this.#sink = sink;
    this.#count = count;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Whether it asked to wait with more. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** True for the event that is made first: tables have their columns there. */
  takeFirst(): boolean {
    const isFirst = !this.#hasFirst;
    this.#hasFirst = true;
    return isFirst;
  }

  /** False when it asks to wait with more. */
  send(event: EncodedEvent): boolean {
    this.#count();
    this.#sent += 1;
    const takesMore = this.#sink.event(event);
    this.#isFull = !takesMore;
    return takesMore;
  }

  /** Resolves once it takes more, or is gone. */
  drained(): Promise<void> {
    this.#isFull = false;
    return this.#sink.drained();
  }

  end(): void {
    this.#sink.end();
  }
}
