import {apiVersionOf, kinds} from '#src/api/kinds/index.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Lease} from '#src/api/types.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {recordOf, specOf, type LeaderRecord} from './record.js';

/**
 * A lock kept in one Lease object. Each write carries the last observed version, so of two concurrent writers one
 * fails.
 */
export class LeaseLock {
  readonly name: string;
  readonly namespace: string;
  readonly #client: Client;
  readonly #events: EventRecorder | undefined;
  #seen: Lease | undefined;

  constructor({client, namespace, name, events}: {client: Client; namespace: string; name: string; events?: EventRecorder}) {
    this.#client = client;
    this.namespace = namespace;
    this.name = name;
    this.#events = events;
  }

  /** Reads the record; undefined if the Lease does not exist. */
  async get(signal: AbortSignal): Promise<LeaderRecord | undefined> {
    const lease = await unlessMissing(this.#leases.get(this.name, {namespace: this.namespace, signal}));
    if (!lease) return undefined;
    this.#seen = lease;
    return recordOf(lease);
  }

  /** Creates the Lease; rejects if it exists. */
  async create(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    this.#seen = await this.#leases.create(
      {...this.#identified(), metadata: {namespace: this.namespace, name: this.name}, spec: specOf(record)},
      {signal},
    );
  }

  /** Updates the last observed Lease; rejects if it has changed since. Fields of other clients are kept. */
  async update(record: LeaderRecord, signal: AbortSignal): Promise<void> {
    if (!this.#seen) throw new Error('the lease was never read');
    this.#seen = await this.#leases.update({...this.#identified(), ...this.#seen, spec: {...this.#seen.spec, ...specOf(record)}}, {signal});
  }

  /** Records an Event on the Lease. */
  recordEvent(message: string): void {
    const metadata = this.#seen?.metadata ?? {namespace: this.namespace, name: this.name};
    this.#events?.normal({...this.#identified(), metadata}, 'LeaderElection', message);
  }

  get #leases() {
    return this.#client.resource(kinds.leases);
  }

  #identified(): {apiVersion: string; kind: string} {
    return {apiVersion: apiVersionOf(this.#client.naming, kinds.leases), kind: kinds.leases.kind};
  }
}
