// The changes of endpoints since the last sync, in one family. Endpoints move between the slices of a service, so all
// slices of a service that has changed are read together.

import {sameJson} from '#src/api/equal.js';
import {keyText, type ObjectKey} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {endpointsOf, type Endpoint, type EndpointsByPort, type EndpointSlice} from '#src/proxy/state/endpoint.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {Touched} from './touched.js';

/** The slices of a service, by their names. */
interface ServiceSlices {
  readonly service: ObjectKey;
  readonly applied: Map<string, EndpointSlice>;
  /** What is not applied yet; undefined for a slice that is gone. */
  readonly pending: Map<string, EndpointSlice | undefined>;
  endpoints: EndpointsByPort;
}

/** What applied changes mean, beside what they touched. */
export interface AppliedEndpoints {
  /** Whether a service with a port of UDP has changed. */
  readonly isUdpTouched: boolean;
  /** When the pods changed that made the endpoints change, in ms. */
  readonly triggeredAt: readonly number[];
}

export interface EndpointChangeParts {
  readonly family: IpFamily;
  readonly nodeName: string;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly metrics: Pick<ProxyMetrics, 'endpointChanges' | 'endpointChangesPending'>;
}

const sameContent = (a: EndpointSlice | undefined, b: EndpointSlice | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && sameJson(a.ports, b.ports) && sameJson(a.endpoints, b.endpoints));

/** Keeps the slices of each service, and which are pending. */
export class EndpointChanges {
  readonly #parts: EndpointChangeParts;
  readonly #serviceLabel: string;
  readonly #triggerAnnotation: string;
  readonly #startedAt: number;
  readonly #services = new Map<string, ServiceSlices>();
  readonly #pending = new Set<string>();
  readonly #triggers = new Map<string, number[]>();
  #changes = 0;

  constructor(parts: EndpointChangeParts) {
    const {naming} = parts;
    this.#parts = parts;
    this.#serviceLabel = naming.key('service-name');
    this.#triggerAnnotation = naming.subKey('endpoints', 'last-change-trigger-time');
    this.#startedAt = parts.clock.now();
  }

  /** Takes a slice in, or that it is gone. Returns whether that changes endpoints. */
  update(slice: EndpointSlice, isGone: boolean): boolean {
    const {metadata, addressType} = slice;
    const name = metadata?.labels?.[this.#serviceLabel];
    if (addressType !== this.#parts.family || !name || !metadata?.namespace || !metadata.name) return false;
    const service = {namespace: metadata.namespace, name};
    const key = keyText(service);
    this.#parts.metrics.endpointChanges.add();
    const isNew = this.#take(key, service, metadata.name, isGone ? undefined : slice);
    if (!isNew) return false;
    this.#parts.metrics.endpointChangesPending.set(++this.#changes);
    this.#noteTrigger(key, slice, isGone);
    return true;
  }

  #take(key: string, service: ObjectKey, name: string, slice: EndpointSlice | undefined): boolean {
    const known = this.#services.get(key);
    const last = known?.pending.has(name) ? known.pending.get(name) : known?.applied.get(name);
    if (sameContent(last, slice)) return false;
    const slices = known ?? {service, applied: new Map(), pending: new Map(), endpoints: new Map()};
    this.#services.set(key, slices);
    slices.pending.set(name, slice);
    this.#pending.add(key);
    return true;
  }

  /** The times of slices that are gone say when their pods changed last, not when they went. */
  #noteTrigger(key: string, {metadata}: EndpointSlice, isGone: boolean): void {
    if (isGone) {
      this.#triggers.delete(key);
      return;
    }
    const at = Date.parse(metadata?.annotations?.[this.#triggerAnnotation] ?? '');
    if (at > this.#startedAt) this.#triggers.set(key, [...(this.#triggers.get(key) ?? []), at]);
  }

  /** Applies what is pending to the map of all endpoints, and adds what it touched. */
  apply(endpoints: Map<string, readonly Endpoint[]>, touched: Touched): AppliedEndpoints {
    let isUdpTouched = false;
    for (const key of this.#pending) {
      const slices = this.#services.get(key)!;
      touched.services.add(key);
      for (const port of this.#refresh(key, slices, endpoints)) {
        touched.ports.add(port);
        isUdpTouched ||= port.endsWith(':UDP');
      }
    }
    const triggeredAt = [...this.#triggers.values()].flat();
    this.#pending.clear();
    this.#triggers.clear();
    this.#changes = 0;
    this.#parts.metrics.endpointChangesPending.set(0);
    return {isUdpTouched, triggeredAt};
  }

  /** Reads the endpoints of a service again. Returns the keys of the ports that it had or has. */
  #refresh(key: string, slices: ServiceSlices, endpoints: Map<string, readonly Endpoint[]>): ReadonlySet<string> {
    const {service, applied, pending} = slices;
    for (const [name, slice] of pending) {
      if (slice) applied.set(name, slice);
      else applied.delete(name);
    }
    pending.clear();
    const before = slices.endpoints;
    slices.endpoints = endpointsOf(service, applied.values(), this.#parts.nodeName);
    if (applied.size === 0) this.#services.delete(key);
    for (const port of before.keys()) endpoints.delete(port);
    for (const [port, list] of slices.endpoints) endpoints.set(port, list);
    return new Set([...before.keys(), ...slices.endpoints.keys()]);
  }
}
