import {discover, groupVersionOf, resourceText, type Discovered, type FoundResource} from '#controllers/shared/discovery.js';
import {sameJson} from '#src/api/equal.js';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Counter} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import type {KindMap} from './kind-map.js';
import {monitorKey, type Monitors} from './monitors.js';
import {discoveryPeriodMs, type DiscoverySchedule} from './discovery-schedule.js';

const verbs = ['delete', 'list', 'watch'];

/** Events expire by themselves, and are too many. */
const ignoredResources = (naming: Naming): ReadonlySet<string> =>
  new Set(['', naming.group('events')].map(group => resourceText({group, resource: 'events'})));

/** Returns the resources to monitor: each in its preferred version, if it can be listed, watched and deleted. */
const collectable = ({resources}: Pick<Discovered, 'resources'>, naming: Naming): Map<string, FoundResource> => {
  const ignored = ignoredResources(naming);
  const fitting = resources.filter(found => verbs.every(verb => found.verbs.includes(verb)) && !ignored.has(resourceText(found)));
  return new Map(fitting.map(found => [monitorKey(found), found]));
};

export interface ResourceWatchParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly kinds: KindMap;
  readonly monitors: Monitors;
  readonly schedule: DiscoverySchedule;
  /** Called each time `kinds` was updated. */
  onKindsRead(): void;
  /** Counts failed discovery syncs. */
  readonly failures: Counter;
}

/** Keeps the monitors in sync with the resources that the server serves. */
export class ResourceSync {
  readonly #parts: ResourceWatchParts;
  /** What discovery said last. */
  #last: Discovered | undefined;
  /** Whether all monitors were synced since the last change. */
  #isSynced = false;

  constructor(parts: ResourceWatchParts) {
    this.#parts = parts;
  }

  /**
   * Syncs periodically until the signal aborts. `synced` is called each time all monitors are synced after a change.
   */
  async run(signal: AbortSignal, synced: () => void): Promise<void> {
    const {schedule, log, failures} = this.#parts;
    while (!signal.aborted) {
      try {
        if (await this.#sync(signal)) synced();
      } catch (error) {
        if (signal.aborted) return;
        failures.add();
        log.error({err: error}, 'what the server serves could not be followed');
      }
      await schedule.next(signal);
    }
  }

  /** Returns whether there was a change and all monitors are synced. */
  async #sync(signal: AbortSignal): Promise<boolean> {
    const {client, clock, log, kinds, monitors, schedule, onKindsRead} = this.#parts;
    const discovered = await held(clock, discover(client));
    const last = this.#last;
    this.#last = discovered;
    // Nearly always nothing has changed, and this is asked twice a minute.
    if (this.#isSynced && last && isSame(last, discovered)) {
      onKindsRead();
      return false;
    }
    const found = collectable(discovered, client.naming);
    if (found.size === 0) throw new Error('no resources reported by discovery');
    if (discovered.failed.size > 0) log.warn({groups: [...discovered.failed.keys()].join(',')}, 'failed to discover some groups');
    // Resources of a group whose discovery failed are kept.
    for (const [key, {found: known}] of monitors.monitored)
      if (discovered.failed.has(groupVersionOf(known)) && monitors.isSynced(key)) found.set(key, known);
    kinds.reset(discovered.served);
    onKindsRead();
    if (this.#isSynced && sameKeys(found, monitors.monitored)) return false;
    log.v(2).info(differences(monitors.monitored, found), 'following other resources than before');
    this.#isSynced = false;
    await held(clock, monitors.sync(found.values()));
    this.#isSynced = await this.#synced(signal);
    // A kind that does not sync does not block the others.
    if (!this.#isSynced && !schedule.triggered.aborted)
      throw new Error('timed out waiting for dependency graph builder sync during GC sync');
    return this.#isSynced;
  }

  /** Returns whether all informers sync in time, before discovery is due again. */
  async #synced(signal: AbortSignal): Promise<boolean> {
    const timeout = new AbortController();
    using _ = this.#parts.clock.schedule(discoveryPeriodMs, () => timeout.abort());
    using linked = firstOf(signal, timeout.signal, this.#parts.schedule.triggered);
    try {
      await this.#parts.monitors.whenSynced(linked.signal);
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

const isSame = (one: Discovered, other: Discovered): boolean =>
  one.failed.size === 0 && other.failed.size === 0 && sameJson(one.served, other.served);

const sameKeys = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean =>
  one.size === other.size && [...one.keys()].every(key => other.has(key));

const differences = (before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): {added: string; removed: string} => {
  const without = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>) =>
    [...one.keys()].filter(key => !other.has(key)).join(', ');
  return {added: without(now, before), removed: without(before, now)};
};

/** Holds a virtual clock while a call is pending. */
const held = async <T>(clock: Clock, work: Promise<T>): Promise<T> => {
  using _ = clock.hold();
  return await work;
};
