/**
 * Bodies that are being received. A request has no place among those in flight until its body is complete, so that
 * clients that send slowly do not delay others. The bytes received for all bodies are limited, those of bodies that are
 * complete and wait for a place included.
 */
import type {ApiBody, BodyObserver} from '#src/api/request.js';

type Bytes = Extract<ApiBody, {kind: 'bytes'}>;

/** The cost of a waiting request besides the received bytes. */
const requestBytes = 16 << 10;

/** The bodies of one user, the oldest first. */
interface UserBodies {
  bytes: number;
  readonly bodies: Set<IncomingBody>;
}

/** All bodies that are being received. */
export class IncomingBodies {
  readonly #maxBytes: number;
  readonly #refuse: () => Error;
  readonly #byUser = new Map<string, UserBodies>();
  #bytes = 0;

  /** `refuse` is called for each body for which there is no room any more, and returns its error. */
  constructor(maxBytes: number, refuse: () => Error) {
    this.#maxBytes = maxBytes;
    this.#refuse = refuse;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Returns the place of a request in flight, which it gives up while the body is received, and takes when it is
   * complete.
   */
  follow(body: Bytes, entrance: Entrance): Disposable {
    return body.observe ? new IncomingBody(this, body, entrance) : (entrance.place ?? entrance.enter());
  }

  /**
   * Called by bodies: adds to the bytes kept for a user. Above the limit, the oldest request of the user with the most
   * bytes is ended.
   */
  grow(body: IncomingBody, bytes: number): void {
    const found = this.#byUser.get(body.user);
    const of = found ?? {bytes: 0, bodies: new Set()};
    if (!found) this.#byUser.set(body.user, of);
    of.bodies.add(body);
    of.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) this.#largest().bodies.values().next().value!.stop(this.#refuse());
  }

  /** Called by bodies: the body has ended. */
  remove(body: IncomingBody, bytes: number): void {
    const of = this.#byUser.get(body.user);
    if (!of?.bodies.delete(body)) return;
    of.bytes -= bytes;
    this.#bytes -= bytes;
    if (of.bodies.size === 0) this.#byUser.delete(body.user);
  }

  #largest(): UserBodies {
    let largest: UserBodies | undefined;
    for (const of of this.#byUser.values()) if (!largest || of.bytes > largest.bytes) largest = of;
    return largest!;
  }
}

/** A request's way to enter those in flight. */
interface Entrance {
  /** Whoever sends it. */
  readonly user: string;
  /** The place that it has already. */
  readonly place?: Disposable;
  /** Takes a place, for which the request may have to wait. Throws 429 if there is none. */
  enter(): EnteredPlace;
}

/** A place in flight. Disposing it also ends the wait for it. */
export interface EnteredPlace extends Disposable {
  /**
   * Resolves when it is free for the request, and rejects with 429 when the wait has ended; undefined if there is
   * nothing to wait for.
   */
  readonly ready?: Promise<void> | undefined;
}

/** The place in flight of a request with a body. */
export class IncomingBody implements BodyObserver, Disposable {
  readonly user: string;
  readonly #all: IncomingBodies;
  readonly #enter: () => EnteredPlace;
  #place: Disposable | undefined;
  #stop: ((error: Error) => void) | undefined;
  #bytes = 0;
  #over = false;

  constructor(all: IncomingBodies, body: Bytes, {user, place, enter}: Entrance) {
    this.user = user;
    this.#all = all;
    this.#place = place;
    this.#enter = enter;
    body.observe!(this);
  }

  started(stop: (error: Error) => void): void {
    this.#leave();
    this.#stop = stop;
    this.received(requestBytes);
  }

  received(bytes: number): void {
    if (!this.#stop) return;
    this.#bytes += bytes;
    this.#all.grow(this, bytes);
  }

  ended(isWhole: boolean): Error | undefined | Promise<Error | undefined> {
    this.#stop = undefined;
    const place = isWhole && !this.#over ? this.#tryToEnter() : undefined;
    if (place && !(place instanceof Error) && place.ready) return this.#waitFor(place, place.ready);
    this.#all.remove(this, this.#bytes);
    if (place instanceof Error) return place;
    this.#place = place;
    return undefined;
  }

  #tryToEnter(): EnteredPlace | Error {
    try {
      return this.#enter();
    } catch (error) {
      return error as Error;
    }
  }

  /** The body takes up memory until there is a place. */
  async #waitFor(place: EnteredPlace, ready: Promise<void>): Promise<Error | undefined> {
    this.#place = place;
    let stopped: Error | undefined;
    this.#stop = error => {
      stopped = error;
      place[Symbol.dispose]();
    };
    try {
      await ready;
      return undefined;
    } catch (error) {
      return stopped ?? (error as Error);
    } finally {
      this.#stop = undefined;
      this.#all.remove(this, this.#bytes);
    }
  }

  /** Ends the reading of the body, or the wait for a place, with an error. */
  stop(error: Error): void {
    const stop = this.#stop;
    this.#stop = undefined;
    this.#all.remove(this, this.#bytes);
    stop?.(error);
  }

  /** Called when the request has ended. */
  [Symbol.dispose](): void {
    this.#over = true;
    this.#leave();
  }

  #leave(): void {
    this.#place?.[Symbol.dispose]();
    this.#place = undefined;
  }
}
