import type {InterceptedResponse} from '#src/api/faults/interceptor.js';
import type {ApiResponse, EncodedEvent, WatchSink} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';

/** A watch stream, named by what it watches. */
export interface WatchStream {
  readonly resource: string;
}

/**
 * How an event is delivered: as it is, twice, or not at all, which ends its stream; late, and all that follows in its
 * stream after it; or once so many later ones have come, or `release` is called.
 */
export type EventDelivery = 'pass' | 'double' | 'lose' | {readonly lateMs: number} | {readonly behind: number};

export interface WatchStreamsParts {
  readonly clock: Clock;
  /** Decides on each event but bookmarks. */
  deliveryOf(stream: WatchStream, event: EncodedEvent): EventDelivery;
}

type Act = () => void;

/**
 * The watch streams of a client, between the server and the client: their events can be held back, lost and doubled.
 */
export class WatchStreams {
  readonly #parts: WatchStreamsParts;
  readonly #open = new Set<WatchStream>();
  /** What waits of streams that are held back. */
  readonly #held = new Map<WatchStream, Act[]>();
  readonly #outdated = new Set<string>();
  /** The newest events of streams that are behind. */
  readonly #withheld = new Map<WatchStream, Act[]>();
  #isOver = false;

  constructor(parts: WatchStreamsParts) {
    this.#parts = parts;
  }

  isWatched(resource: string): boolean {
    return [...this.#open].some(stream => stream.resource === resource);
  }

  /** Whether an event of a resource was lost since the last call: a server would answer the next watch with 410. */
  takeOutdated(resource: string): boolean {
    return this.#outdated.delete(resource);
  }

  /** Holds back, for a time, what the streams that are open deliver: caches stay as they are. */
  holdBack(ms: number, which: (stream: WatchStream) => boolean = () => true): void {
    for (const stream of this.#open) if (which(stream)) this.#delay(stream, ms);
  }

  /** Delivers what streams that are behind withhold. */
  release(): void {
    for (const stream of this.#withheld.keys()) this.#catchUp(stream);
  }

  /** Ends all delivery: the client is dead. */
  end(): void {
    this.#isOver = true;
    this.#held.clear();
    this.#withheld.clear();
    this.#open.clear();
  }

  /** Returns the response with its watch, if it is one, between the server and its client. */
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
      this.#withheld.delete(stream); // The client resumes from what it has seen.
    };
    return {
      event: event => {
        if (this.#isOver || isEnded) return false;
        // A bookmark would move the client past what is withheld.
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
