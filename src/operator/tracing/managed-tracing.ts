import {hostname} from 'node:os';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Span} from '#src/base/span.js';
import type {RootOptions} from '#src/observe/tracer.js';
import type {TraceSource} from '#src/runtime/reconcile-trace.js';
import {systemNetwork} from '#src/transport/network.js';
import {collectorOf, targetOf, tracingErrors} from '#src/transport/otlp/target.js';
import type {Tracing} from '#src/transport/otlp/tracing.js';

/** Where the traces of reconciles are sent. */
export interface TracingOptions {
  /** The collector of OTLP over gRPC, without TLS: `host:port`, `http://host:port` or `unix:///path`. */
  readonly endpoint: string;
  /** How many of a million traces are sent. Default: all. */
  readonly samplingRatePerMillion?: number;
}

interface ManagedTracingParts {
  /** The name of the manager, as which the collector knows it. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The tracing of one manager, which sends nothing before it is opened. */
export class ManagedTracing implements TraceSource {
  readonly #endpoint: string;
  readonly #samplingRatePerMillion: number;
  readonly #parts: ManagedTracingParts;
  #tracing: Tracing | undefined;

  /** Throws a `TypeError` for invalid options. */
  constructor({endpoint, samplingRatePerMillion = 1_000_000}: TracingOptions, parts: ManagedTracingParts) {
    this.#endpoint = targetOf(endpoint);
    this.#samplingRatePerMillion = samplingRatePerMillion;
    this.#parts = parts;
    const [error] = tracingErrors({endpoint: this.#endpoint, samplingRatePerMillion}, 'tracing.');
    if (error) throw new TypeError(`${error.path}: ${error.detail}`);
  }

  async open(): Promise<void> {
    const {name, clock, log} = this.#parts;
    const {tracingTo} = await import('#src/transport/otlp/tracing.js');
    this.#tracing = tracingTo({
      server: collectorOf(this.#endpoint),
      samplingRatePerMillion: this.#samplingRatePerMillion,
      resource: {'service.name': name, 'host.name': hostname()},
      network: systemNetwork(clock),
      clock,
      log,
    });
  }

  root(options: RootOptions): Span | undefined {
    return this.#tracing?.tracer.root(options);
  }

  /** Sends the last spans. */
  async close(): Promise<void> {
    await this.#tracing?.close();
  }
}
