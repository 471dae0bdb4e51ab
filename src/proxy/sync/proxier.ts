// Keeps the rules of one family as services and endpoints are: collects their changes, and syncs them now and then.

import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {EndpointChanges, type AppliedEndpoints} from '#src/proxy/changes/endpoint-changes.js';
import {ServiceChanges} from '#src/proxy/changes/service-changes.js';
import {nothingTouched, type Touched} from '#src/proxy/changes/touched.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {SyncHooks} from '#src/proxy/mode/hooks.js';
import type {ProxyMode, ProxyState, SyncResult} from '#src/proxy/mode/mode.js';
import type {SyncPeriods} from '#src/proxy/mode/settings.js';
import type {Endpoint, EndpointSlice} from '#src/proxy/state/endpoint.js';
import {familyOfRange} from '#src/proxy/state/ip-family.js';
import type {Service, ServicePort} from '#src/proxy/state/service-port.js';
import {BoundedRunner} from './bounded-runner.js';
import {healthChecks} from './health-checks.js';

/** After this time all rules are written again. */
export const fullSyncMs = 3_600_000;

export interface ProxierParts {
  readonly mode: ProxyMode;
  readonly nodeName: string;
  readonly periods: SyncPeriods;
  readonly hooks: SyncHooks;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ProxyMetrics;
}

const withResolver = (): {readonly promise: Promise<void>; resolve(): void} => {
  let resolve = (): void => {};
  const promise = new Promise<void>(done => (resolve = done));
  return {promise, resolve};
};

/** The proxy of one family. */
export class Proxier {
  /** Resolves after the first sync that succeeds. */
  readonly synced: Promise<void>;
  readonly #firstSynced: () => void;
  readonly #parts: ProxierParts;
  readonly #labels: {readonly ip_family: string};
  readonly #serviceChanges: ServiceChanges;
  readonly #endpointChanges: EndpointChanges;
  readonly #runner: BoundedRunner;
  readonly #services = new Map<string, ServicePort>();
  readonly #endpoints = new Map<string, readonly Endpoint[]>();
  #zone: string | undefined;
  #serviceCidrs: readonly string[] = [];
  readonly #unsynced = new Set<'services' | 'endpointSlices'>(['services', 'endpointSlices']);
  #needsFull = true;
  #fullSyncAt = 0;

  constructor(parts: ProxierParts) {
    const {mode, nodeName, periods, naming, clock, log, metrics} = parts;
    const {family} = mode;
    const first = withResolver();
    this.#parts = parts;
    this.synced = first.promise;
    this.#firstSynced = first.resolve;
    this.#labels = {ip_family: family};
    this.#serviceChanges = new ServiceChanges(family, metrics);
    this.#endpointChanges = new EndpointChanges({family, nodeName, naming, clock, metrics});
    this.#runner = new BoundedRunner({
      run: () => this.#sync(),
      periods: {minMs: periods.minSyncPeriodMs, retryMs: periods.syncPeriodMs, maxMs: fullSyncMs},
      clock,
      log,
    });
  }

  /** Starts to sync, once all first objects are known. */
  start(): void {
    const {hooks, mode} = this.#parts;
    hooks.updated(mode.family);
    this.#noteQueued();
    this.#runner.start();
  }

  /** Stops; resolves once the present sync has ended. The rules stay. */
  async stop(): Promise<void> {
    this.#runner[Symbol.dispose]();
    await this.#runner.ended();
  }

  /** A service was added, changed or deleted. */
  serviceChanged(before: Service | undefined, now: Service | undefined): void {
    if (this.#serviceChanges.update(before, now)) this.#changed();
  }

  /** A slice was added or changed, or deleted. */
  sliceChanged(slice: EndpointSlice, isGone: boolean): void {
    if (this.#endpointChanges.update(slice, isGone)) this.#changed();
  }

  /**
   * All first objects of a kind are known. Nothing syncs before those of both are: rules of a part would cut
   * connections.
   */
  known(kind: 'services' | 'endpointSlices'): void {
    this.#unsynced.delete(kind);
    if (this.#unsynced.size === 0) this.#runner.request();
  }

  /** The node is in another zone. */
  zoneChanged(zone: string | undefined): void {
    this.#zone = zone;
    this.#needsFull = true;
    this.#changed();
  }

  /** The ranges of cluster IPs, of both families. */
  serviceCidrsChanged(cidrs: readonly string[]): void {
    const own = cidrs.filter(cidr => familyOfRange(cidr) === this.#parts.mode.family);
    if (sameJson(own, this.#serviceCidrs)) return;
    this.#serviceCidrs = own;
    this.#needsFull = true;
    this.#changed();
  }

  /** Asks for a sync. */
  request(): void {
    const {hooks, mode} = this.#parts;
    hooks.queued(mode.family);
    this.#noteQueued();
    this.#runner.request();
  }

  #changed(): void {
    if (this.#unsynced.size === 0) this.request();
  }

  #noteQueued(): void {
    const {metrics, clock} = this.#parts;
    metrics.lastQueued.set(clock.now() / 1000, this.#labels);
  }

  async #sync(): Promise<void> {
    const {mode, clock, log, metrics} = this.#parts;
    if (this.#unsynced.size > 0) {
      log.v(2).info({ipFamily: mode.family}, 'not syncing rules until services and endpoints are known');
      return;
    }
    const startedAt = clock.monotonic();
    const isFull = this.#needsFull || startedAt - this.#fullSyncAt > fullSyncMs;
    const touched = nothingTouched();
    this.#serviceChanges.apply(this.#services, touched);
    const applied = this.#endpointChanges.apply(this.#endpoints, touched);
    let wasFull = isFull;
    this.#needsFull = false;
    try {
      const result = await this.#syncMode(isFull, touched);
      ({wasFull} = result);
      if (wasFull) this.#fullSyncAt = clock.monotonic();
      await this.#synced(result, applied);
    } catch (error) {
      // What was pending is applied, so only a full sync can make up for it.
      this.#needsFull = true;
      throw error;
    } finally {
      const seconds = (clock.monotonic() - startedAt) / 1000;
      metrics.syncDuration.observe(seconds, this.#labels);
      (wasFull ? metrics.fullSyncDuration : metrics.partialSyncDuration).observe(seconds, this.#labels);
      log.v(2).info({ipFamily: mode.family, fullSync: wasFull, seconds}, 'the sync of the rules has ended');
    }
  }

  #state(): ProxyState {
    return {services: this.#services, endpoints: this.#endpoints, zone: this.#zone, serviceCidrs: this.#serviceCidrs};
  }

  #syncMode(isFull: boolean, {ports, services}: Touched): Promise<SyncResult> {
    return this.#parts.mode.sync(this.#state(), {isFull, ports, services});
  }

  /** What follows a sync that succeeded. */
  async #synced({withoutLocalEndpoints}: SyncResult, {isUdpTouched, triggeredAt}: AppliedEndpoints): Promise<void> {
    const {mode, clock, log, metrics, hooks} = this.#parts;
    const {family} = mode;
    const now = clock.now();
    for (const at of triggeredAt) metrics.networkProgramming.observe(Math.max(0, now - at) / 1000, this.#labels);
    for (const policy of ['internal', 'external'] as const)
      metrics.withoutLocalEndpoints.set(withoutLocalEndpoints[policy], {traffic_policy: policy, ...this.#labels});
    this.#firstSynced();
    hooks.updated(family);
    metrics.lastSync.set(now / 1000, this.#labels);
    const failed = (err: unknown) => log.error({err, ipFamily: family}, 'what follows a sync has failed');
    await Promise.resolve(hooks.checkHealth(family, healthChecks(this.#services, this.#endpoints))).catch(failed);
    if (isUdpTouched) await hooks.cleanFlows(family, this.#state()).catch(failed);
  }
}
