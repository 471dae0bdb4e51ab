/**
 * Bodies on their way in. A request whose body is not there yet gives up its place among those in flight and takes one again once the body is: callers who send
 * slowly keep nobody else waiting. What has come in of all bodies has a bound in bytes.
 */
import type {ApiBody, BodyObserver} from '#src/api/request.js';
import type {Counter, Meter} from '#src/base/meter.js';
import {tooManyRequests} from './plain-refusal.js';

type Bytes = Extract<ApiBody, {kind: 'bytes'}>;

/** How many bytes all bodies that are coming in may take. */
const defaultIncomingBytes = 128 << 20;

/** What a request that waits for its body takes besides what came of it. */
const requestBytes = 16 << 10;

/** The bodies of one user, the one that waits longest first. */
interface UserBodies {
  bytes: number;
  readonly bodies: Set<IncomingBody>;
}

/** All bodies that are coming in. */
export class IncomingBodies {
  readonly #maxBytes: number;
  readonly #byUser = new Map<string, UserBodies>();
  readonly #refused: Counter;
  #bytes = 0;

  constructor(meter: Meter, maxBytes = defaultIncomingBytes) {
    this.#maxBytes = maxBytes;
    meter.observed({name: 'apiserver_incoming_body_bytes', help: 'Bytes taken by requests whose bodies are coming in.'}, () => [[{}, this.#bytes]]);
    meter.observed({name: 'apiserver_incoming_body_limit_bytes', help: 'Bound of the bytes taken by requests whose bodies are coming in.'}, () => [[{}, maxBytes]]);
    this.#refused = meter.counter({name: 'apiserver_incoming_bodies_refused_total', help: 'Number of requests refused while their bodies came in, for want of room.'});
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the place of a request in flight, which it leaves while its body comes in. `enter` takes a place anew. */
  follow(body: Bytes, entrance: Entrance): Disposable {
    return body.observe ? new IncomingBody(this, body, entrance) : entrance.place;
  }

  /** For bodies: so many bytes more are kept for a user. Beyond the bound, the user with the most of them loses the request that waits longest. */
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

  /** For bodies: nothing more comes of it. */
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

/** How a request is in flight. */
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

  /** Ends the reading with an error, where it goes on. */
  stop(error: Error): void {
    const stop = this.#stop;
    this.#stop = undefined;
    this.#all.remove(this, this.#bytes);
    stop?.(error);
  }

  /** The request is over. */
  [Symbol.dispose](): void {
    this.#over = true;
    this.#leave();
  }

  #leave(): void {
    this.#place?.[Symbol.dispose]();
    this.#place = undefined;
  }
}
