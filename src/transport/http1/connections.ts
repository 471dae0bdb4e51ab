// The HTTP/1.1 connections to the servers behind the API server: aggregated servers, node agents, pods, services and
// webhooks. Ordinary calls reuse them by address and TLS settings; upgraded connections are never reused. Node's client
// is used for them rather than undici's, which sends no head before the first byte of a streamed body, and closes the
// connection after HEAD.

import {Agent, type ClientRequest} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {CallLog} from '#src/transport/call-log.js';
import {heldBack, type IdentityHeaders} from '#src/transport/identity-headers.js';
import {authority, type Dial, type Target, type TargetTls} from '#src/transport/dial.js';

/**
 * The error of a server that was not reached, with the reason as upstream's clients word it. Nothing was sent to it.
 */
export class Unreached extends Error {
  override readonly name = 'Unreached';
}

/** The maximum size of a response head. */
export const maxHeaderBytes = 1 << 20;

/** How long an idle connection is kept. */
const idleTimeoutMs = 90_000;
/** The maximum number of idle connections to one server. */
const maxIdle = 25;

export interface ConnectionsOptions {
  readonly dial: Dial;
  readonly clock: Clock;
  /** The log of calls. */
  readonly log?: Log | undefined;
  /** The headers besides the standard ones in which front proxies state the user to this server and those behind it. */
  readonly identityHeaders?: IdentityHeaders;
}

/** The connections to servers. Those of ordinary calls are reused; each upgraded one is opened separately. */
export interface Connections extends Disposable {
  readonly clock: Clock;
  /** The log of calls. */
  readonly calls: CallLog;
  /** Whether a client's header is never relayed, by its name in lower case. */
  isHeldBack(name: string): boolean;
  /** Reuses connections by the target's name. */
  readonly reused: Agent;
  /** Opens a connection for one request. */
  readonly single: Agent;
}

/** The field of a request's options that an agent receives besides Node's own. */
export interface Addressed {
  readonly target: Target;
}

/** Requests on a reused connection of whose responses a byte came. */
const begun = new WeakSet<ClientRequest>();

/** Keeps connections between requests, at most for a time by the given clock. */
class KeepingAgent extends Agent {
  readonly #options: ConnectionsOptions;
  readonly #idle = new WeakMap<Duplex, Disposable>();
  readonly #names = new WeakMap<TargetTls, number>();
  #lastName = 0;

  constructor(options: ConnectionsOptions, keepAlive: boolean) {
    super({keepAlive, maxFreeSockets: maxIdle, timeout: idleTimeoutMs});
    this.#options = options;
  }

  override getName(options?: object): string {
    const {scheme, tls, addresses = [], ...at} = (options as Addressed).target;
    if (tls && !this.#names.has(tls)) this.#names.set(tls, ++this.#lastName);
    return `${scheme}://${authority(at)}#${tls ? this.#names.get(tls)! : 0}${addresses.map(address => `,${address}`).join('')}`;
  }

  override createConnection(options: object, done: (error: Error | null, socket: Duplex) => void = () => {}): undefined {
    this.#options.dial((options as Addressed).target).then(
      socket => {
        socket.once('close', () => this.#used(socket));
        done(null, socket);
      },
      (cause: Error) => done(new Unreached(cause.message, {cause}), undefined as never),
    );
  }

  override keepSocketAlive(socket: Duplex): boolean {
    // The types leave out the result. Node has now set a timer, which is shorter where the server has announced its own.
    const isKept = super.keepSocketAlive(socket) as unknown as boolean;
    const {timeout = idleTimeoutMs} = socket as Socket;
    (socket as Socket).setTimeout(0);
    this.#idle.set(
      socket,
      this.#options.clock.schedule(timeout, () => socket.destroy()),
    );
    return isKept;
  }

  override reuseSocket(socket: Duplex, request: ClientRequest): void {
    this.#used(socket);
    super.reuseSocket(socket, request);
    socket.once('data', () => begun.add(request));
  }

  #used(socket: Duplex): void {
    this.#idle.get(socket)?.[Symbol.dispose]();
    this.#idle.delete(socket);
  }
}

/** Opens connections on demand by a dialer. Disposing closes all of them, with the calls in progress. */
export const connections = (options: ConnectionsOptions): Connections => {
  const reused = new KeepingAgent(options, true);
  const single = new KeepingAgent(options, false);
  return {
    clock: options.clock,
    calls: new CallLog(options.log ?? noLog, options.clock),
    isHeldBack: heldBack(options.identityHeaders),
    reused,
    single,
    [Symbol.dispose]() {
      reused.destroy();
      single.destroy();
    },
  };
};

/** Methods that may be repeated without being asked for twice (RFC 9110 §9.2.1). */
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a method may be repeated. */
export const isSafe = (method: string): boolean => safeMethods.has(method);

/** Whether a request failed because the server had closed the idle connection that it was sent on: no byte of a response came. */
export const isStale = (sent: ClientRequest, {code = ''}: NodeJS.ErrnoException): boolean =>
  sent.reusedSocket && !begun.has(sent) && ['ECONNRESET', 'EPIPE'].includes(code);
