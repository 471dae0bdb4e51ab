import type {InterceptedResponse} from '#src/api/faults/interceptor.js';
import type {ApiResponse, EncodedEvent, WatchSink} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';

/** A watch stream, identified by what it watches. */
export interface WatchStream {
  readonly resource: string;
}

/**
 * How an event is delivered: unchanged, twice, or not at all, which ends its stream; or late together with all later
 * events of its stream; or after a number of later ones have come or `release` is called.
 */
export type EventDelivery = 'pass' | 'double' | 'lose' | {readonly lateMs: number} | {readonly behind: number};

export interface WatchStreamsParts {
  readonly clock: Clock;
  /** Decides on each event except bookmarks. */
  deliveryOf(stream: WatchStream, event: EncodedEvent): EventDelivery;
}

type Act = () => void;

/** Interposes in the watch streams of a client: their events can be delayed, lost and doubled. */
export class WatchStreams {
  readonly #parts: WatchStreamsParts;
  readonly #open = new Set<WatchStream>();
  /** The pending events of delayed streams. */
  readonly #held = new Map<WatchStream, Act[]>();
  readonly #outdated = new Set<string>();
  /** The newest events, withheld from stale streams. */
  readonly #withheld = new Map<WatchStream, Act[]>();
  #isOver = false;

  constructor(parts: WatchStreamsParts) {
    this.#parts = parts;
  }

  isWatched(resource: string): boolean {
    return [...this.#open].some(stream => stream.resource === resource);
  }

  /**
   * Whether an event of a resource was lost since the last call: then a server would answer the next watch with 410.
   */
  takeOutdated(resource: string): boolean {
    return this.#outdated.delete(resource);
  }

  /** Delays the events of the open streams for a time: caches stay as they are. */
  holdBack(ms: number, which: (stream: WatchStream) => boolean = () => true): void {
    for (const stream of this.#open) if (which(stream)) this.#delay(stream, ms);
  }

  /** Delivers the withheld events of stale streams. */
  release(): void {
    for (const stream of this.#withheld.keys()) this.#catchUp(stream);
  }

  /** Stops all delivery: the client is dead. */
  end(): void {
    this.#isOver = true;
    this.#held.clear();
    this.#withheld.clear();
    this.#open.clear();
  }

  /** Interposes in the watch of a response, if it is one. */
  around(resource: string, intercepted: InterceptedResponse): ApiResponse {
    const response = intercepted as ApiResponse;
    const {body} = response;
    return body.kind === 'watch' ? {...response, body: {...body, start: sink => body.start(this.#sink({resource}, sink))}} : response;
  }

  #delay(stream: WatchStream, ms: number): void {
    if (this.#held.has(stream)) return;
    this.#held.set(stream, []);
    this.#parts.clock.schedule(ms, () => {
      const waiting = this.#held.get(stream) ?? [];
      this.#held.delete(stream);
      for (const act of waiting) act();
    });
  }

  #catchUp(stream: WatchStream, leaving = 0): void {
    const withheld = this.#withheld.get(stream) ?? [];
    while (withheld.length > leaving) withheld.shift()!();
    if (withheld.length === 0) this.#withheld.delete(stream);
  }

  #sink(stream: WatchStream, inner: WatchSink): WatchSink {
    this.#open.add(stream);
    let isEnded = false;
    const inTurn = (act: Act) => {
      const waiting = this.#held.get(stream);
      if (waiting) waiting.push(act);
      else act();
    };
    const finish = () => {
      isEnded = true;
      this.#open.delete(stream);
      this.#withheld.delete(stream); // The client resumes after the last delivered event.
    };
    return {
      event: event => {
        if (this.#isOver || isEnded) return false;
        // A bookmark would move the client past the withheld events.
        if (event.type === 'BOOKMARK' && this.#withheld.has(stream)) return true;
        const delivery = event.type === 'BOOKMARK' ? 'pass' : this.#parts.deliveryOf(stream, event);
        if (delivery === 'lose') {
          finish();
          this.#outdated.add(stream.resource);
          inner.end();
          return false;
        }
        const deliver = () => inTurn(() => void inner.event(event));
        if (typeof delivery === 'object' && 'behind' in delivery) {
          this.#withheld.set(stream, [...(this.#withheld.get(stream) ?? []), deliver]);
          this.#catchUp(stream, delivery.behind);
          return true;
        }
        this.#catchUp(stream);
        if (typeof delivery === 'object') this.#delay(stream, delivery.lateMs);
        for (let times = delivery === 'double' ? 2 : 1; times > 0; times--) deliver();
        return true;
      },
      drained: () => inner.drained(),
      end: () => {
        if (isEnded) return;
        finish();
        inTurn(() => inner.end());
      },
    };
  }
}
