import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {DnsMetrics} from '#src/dns/metrics/metrics.js';
import type {ForwardPolicy} from '#src/dns/settings/settings.js';
import {flags, internet, rcodeName, recordTypes} from '#src/dns/wire/codes.js';
import {noRecords, type Question} from '#src/dns/wire/message.js';
import {lowerCase, rootName} from '#src/dns/wire/names.js';
import {readResponse, type Response} from '#src/dns/wire/read.js';
import {MessageWriter} from '#src/dns/wire/writer.js';
import type {Exchanges} from './exchange.js';
import {orderBy} from './policy.js';
import type {ServerAddress} from './servers.js';
import {Upstream} from './upstream.js';

export interface ForwarderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly exchanges: Exchanges;
  readonly policy: ForwardPolicy;
  /** The largest response that is taken by UDP. */
  readonly payloadSize: number;
  readonly metrics: DnsMetrics;
}

/** What a client wants of an answer besides records. */
export interface Wishes {
  readonly dnssec: boolean;
  readonly checkingDisabled: boolean;
}

/** The time limits of one attempt, of a probe, and of a query with all its attempts. */
const timeouts = {attemptMs: 2000, probeMs: 1000, totalMs: 5000} as const;

/** So often each resolver is tried, on average. */
const attemptsEach = 2;

/** Asks the resolvers that are configured, one after the other until one responds. */
export class Forwarder {
  readonly #parts: ForwarderParts;
  readonly #order: <T>(items: readonly T[]) => readonly T[];
  readonly #writer = new MessageWriter();
  #upstreams: readonly Upstream[] = [];

  constructor(parts: ForwarderParts) {
    this.#parts = parts;
    this.#order = orderBy(parts.policy, parts.random);
  }

  get hasUpstreams(): boolean {
    return this.#upstreams.length > 0;
  }

  /** Replaces the resolvers. */
  use(servers: readonly ServerAddress[]): void {
    this.stop();
    const {clock, metrics} = this.#parts;
    const probe = (server: ServerAddress) => this.#probe(server);
    this.#upstreams = servers.map(server => new Upstream(server, {clock, probe, onFailure: to => metrics.healthcheckFailed(to)}));
  }

  stop(): void {
    for (const upstream of this.#upstreams) upstream.stop();
    this.#upstreams = [];
  }

  /** Returns the first response; undefined if there is none in time. */
  async lookup(question: Question, wishes: Wishes): Promise<Response | undefined> {
    const {clock} = this.#parts;
    const order = this.#order(this.#upstreams);
    const deadline = clock.monotonic() + timeouts.totalMs;
    for (let attempt = 0; attempt < attemptsEach * order.length; attempt++) {
      const leftMs = deadline - clock.monotonic();
      if (leftMs <= 0) break;
      const upstream = this.#choose(order, attempt);
      try {
        return await this.#ask(upstream, question, wishes, Math.min(timeouts.attemptMs, leftMs));
      } catch {
        upstream.check();
      }
    }
    return undefined;
  }

  /** The next resolver in order that is not known to be down; any, if all are: the probes may be what fails. */
  #choose(order: readonly Upstream[], attempt: number): Upstream {
    const {random, metrics} = this.#parts;
    for (let step = 0; step < order.length; step++) {
      const upstream = order[(attempt + step) % order.length]!;
      if (!upstream.isDown) return upstream;
    }
    metrics.healthchecksBroken();
    return order[Math.floor(random.float() * order.length)]!;
  }

  async #ask({server, text}: Upstream, question: Question, wishes: Wishes, timeoutMs: number): Promise<Response> {
    const {clock, metrics} = this.#parts;
    const started = clock.monotonic();
    let response = await this.#send(server, question, wishes, 'udp', timeoutMs);
    // What does not fit into a datagram is asked for again, and then cached whole for all clients.
    if (response.flags & flags.truncated)
      response = await this.#send(server, question, wishes, 'tcp', Math.max(1, timeoutMs - (clock.monotonic() - started)));
    metrics.forwarded(text, rcodeName(response.rcode), (clock.monotonic() - started) / 1000);
    return response;
  }

  #send(
    server: ServerAddress,
    question: Question,
    {dnssec, checkingDisabled}: Wishes,
    transport: 'udp' | 'tcp',
    timeoutMs: number,
  ): Promise<Response> {
    const {random, exchanges, payloadSize} = this.#parts;
    const [high = 0, low = 0] = random.bytes(2);
    const id = (high << 8) | low;
    const bits = flags.recursionDesired | flags.authenticData | (checkingDisabled ? flags.checkingDisabled : 0);
    const edns = {payloadSize, version: 0, dnssec};
    const query = this.#writer.write({...noRecords, id, flags: bits, rcode: 0, question, edns}, payloadSize);
    const accept = (bytes: Buffer) => {
      const response = readResponse(bytes);
      return response && response.id === id && isSame(response.question, question) ? response : undefined;
    };
    return exchanges.exchange(server, query, {transport, timeoutMs, accept});
  }

  #probe(server: ServerAddress): Promise<unknown> {
    const question = {name: rootName, type: recordTypes.NS, class: internet};
    return this.#send(server, question, {dnssec: false, checkingDisabled: false}, 'udp', timeouts.probeMs);
  }
}

const isSame = (one: Question, other: Question): boolean =>
  one.type === other.type && one.class === other.class && lowerCase(one.name) === lowerCase(other.name);
