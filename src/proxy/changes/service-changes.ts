// The changes of services since the last sync, in one family.

import {keyOf, keyText} from '#src/api/key.js';
import {sameJson} from '#src/api/equal.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {servicePortsOf, type Service, type ServicePort} from '#src/proxy/state/service-port.js';
import type {Touched} from './touched.js';

type Ports = ReadonlyMap<string, ServicePort>;

/** The ports of a service before all changes since the last sync, and now. */
interface ServiceChange {
  readonly before: Ports;
  readonly now: Ports;
}

const samePorts = (a: Ports, b: Ports): boolean => a.size === b.size && [...a].every(([key, port]) => sameJson(port, b.get(key)));

/** Keeps what is pending by service. A change that is taken back is none. */
export class ServiceChanges {
  readonly #family: IpFamily;
  readonly #metrics: Pick<ProxyMetrics, 'serviceChanges' | 'serviceChangesPending'>;
  readonly #pending = new Map<string, ServiceChange>();

  constructor(family: IpFamily, metrics: Pick<ProxyMetrics, 'serviceChanges' | 'serviceChangesPending'>) {
    this.#family = family;
    this.#metrics = metrics;
  }

  /**
   * Takes a change of a service in; `before` or `now` is missing if it is new or deleted. Returns whether any are
   * pending.
   */
  update(before: Service | undefined, now: Service | undefined): boolean {
    const service = now ?? before;
    if (!service) return this.#pending.size > 0;
    this.#metrics.serviceChanges.add();
    const key = keyText(keyOf(service));
    const change = {
      before: this.#pending.get(key)?.before ?? servicePortsOf(before, this.#family),
      now: servicePortsOf(now, this.#family),
    };
    if (samePorts(change.before, change.now)) this.#pending.delete(key);
    else this.#pending.set(key, change);
    this.#metrics.serviceChangesPending.set(this.#pending.size);
    return this.#pending.size > 0;
  }

  /** Applies what is pending to the map of all service ports, and adds what it touched. */
  apply(services: Map<string, ServicePort>, touched: Touched): void {
    for (const [service, {before, now}] of this.#pending) {
      touched.services.add(service);
      for (const key of before.keys()) {
        touched.ports.add(key);
        if (!now.has(key)) services.delete(key);
      }
      for (const [key, port] of now) {
        touched.ports.add(key);
        services.set(key, port);
      }
    }
    this.#pending.clear();
    this.#metrics.serviceChangesPending.set(0);
  }
}
