/**
 * Bodies that are being received. A request whose body has not arrived gives up its place among those in flight and takes one again when the body is
 * complete, so that clients that send slowly do not delay others. The bytes received for all bodies are limited.
 */
import type {ApiBody, BodyObserver} from '#src/api/request.js';
import type {Counter, Meter} from '#src/base/meter.js';
import {tooManyRequests} from './plain-refusal.js';

type Bytes = Extract<ApiBody, {kind: 'bytes'}>;

/** The default limit of bytes for all bodies that are being received. */
const defaultIncomingBytes = 128 << 20;

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
  readonly #byUser = new Map<string, UserBodies>();
  readonly #refused: Counter;
  #bytes = 0;

  constructor(meter: Meter, maxBytes = defaultIncomingBytes) {
    this.#maxBytes = maxBytes;
    meter.observed({name: 'apiserver_incoming_body_bytes', help: 'Bytes taken by requests whose bodies are coming in.'}, () => [
      [{}, this.#bytes],
    ]);
    meter.observed(
      {name: 'apiserver_incoming_body_limit_bytes', help: 'Bound of the bytes taken by requests whose bodies are coming in.'},
      () => [[{}, maxBytes]],
    );
    this.#refused = meter.counter({
      name: 'apiserver_incoming_bodies_refused_total',
      help: 'Number of requests refused while their bodies came in, for want of room.',
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the place of a request in flight, which is given up while the body is received. `enter` takes a place anew. */
  follow(body: Bytes, entrance: Entrance): Disposable {
    return body.observe ? new IncomingBody(this, body, entrance) : entrance.place;
  }

  /** Called by bodies: adds to the bytes kept for a user. Above the limit, the oldest request of the user with the most bytes is ended. */
  grow(body: IncomingBody, bytes: number): void {
    const found = this.#byUser.get(body.user);
    const of = found ?? {bytes: 0, bodies: new Set()};
    if (!found) this.#byUser.set(body.user, of);
    of.bodies.add(body);
    of.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#maxBytes) {
      this.#refused.add();
      this.#largest().bodies.values().next().value!.stop(tooManyRequests());
    }
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
  readonly user: string;
  readonly place: Disposable;
  enter(): Disposable | undefined;
}

/** The place in flight of a request with a body. */
export class IncomingBody implements BodyObserver, Disposable {
  readonly user: string;
  readonly #all: IncomingBodies;
  readonly #enter: () => Disposable | undefined;
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

  ended(isWhole: boolean): Error | undefined {
    this.#stop = undefined;
    this.#all.remove(this, this.#bytes);
    if (!isWhole || this.#over) return undefined;
    this.#place = this.#enter();
    return this.#place ? undefined : tooManyRequests();
  }

  /** Ends the reading with an error, if it is not complete. */
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
