import {discover, groupVersionOf, resourceText, type Discovered, type FoundResource} from '#controllers/shared/discovery.js';
import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Counter} from '#src/base/meter.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import type {KindMap} from './kind-map.js';
import {monitorKey, type Monitors} from './monitors.js';

/** How often the server is asked what it serves, and how long new informers may take to sync. */
export const discoveryPeriodMs = 30_000;

const verbs = ['delete', 'list', 'watch'];

/** Events come and go by themselves, and are too many. */
const ignoredResources = (naming: Naming): ReadonlySet<string> => new Set(['', naming.group('events')].map(group => resourceText({group, resource: 'events'})));

/** What there is to follow: each resource, in its preferred version, that can be listed, watched and deleted. */
export const collectable = ({resources}: Pick<Discovered, 'resources'>, naming: Naming): Map<string, FoundResource> => {
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
  /** Counts the times that what is served could not be followed. */
  readonly failures: Counter;
}

/** Keeps up with what the server serves: kinds come and go while it runs. */
export class ResourceWatch {
  readonly #parts: ResourceWatchParts;
  /** Whether everything was synced since the last change. */
  #isSettled = false;

  constructor(parts: ResourceWatchParts) {
    this.#parts = parts;
  }

  /** Looks again and again until the signal aborts. `synced` is called each time everything is followed and synced after a change. */
  async run(signal: AbortSignal, synced: () => void): Promise<void> {
    const {clock, log, failures} = this.#parts;
    while (!signal.aborted) {
      try {
        if (await this.#look(signal)) synced();
      } catch (error) {
        if (signal.aborted) return;
        failures.add();
        log.error({err: error}, 'what the server serves could not be followed');
      }
      await sleep(clock, discoveryPeriodMs, signal).catch(() => {});
    }
  }

  /** Whether there was a change, and all of it is followed now. */
  async #look(signal: AbortSignal): Promise<boolean> {
    const {client, clock, log, kinds, monitors} = this.#parts;
    const discovered = await held(clock, discover(client));
    const found = collectable(discovered, client.naming);
    if (found.size === 0) throw new Error('no resources reported by discovery');
    if (discovered.failed.size > 0) log.warn({groups: [...discovered.failed.keys()].join(',')}, 'failed to discover some groups');
    // A group that cannot tell of its resources has not lost them.
    for (const [key, {found: known}] of monitors.followed) if (discovered.failed.has(groupVersionOf(known)) && monitors.isSynced(key)) found.set(key, known);
    kinds.reset(discovered.served);
    if (this.#isSettled && sameKeys(found, monitors.followed)) return false;
    log.v(2).info(differences(monitors.followed, found), 'following other resources than before');
    this.#isSettled = false;
    monitors.follow(found.values());
    if (!(await this.#synced(signal))) throw new Error('timed out waiting for dependency graph builder sync during GC sync');
    this.#isSettled = true;
    return true;
  }

  /** Whether all informers sync in time. */
  async #synced(signal: AbortSignal): Promise<boolean> {
    const late = new AbortController();
    using _ = this.#parts.clock.schedule(discoveryPeriodMs, () => late.abort());
    using linked = firstOf(signal, late.signal);
    try {
      await this.#parts.monitors.whenSynced(linked.signal);
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}

const sameKeys = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>): boolean => one.size === other.size && [...one.keys()].every(key => other.has(key));

const differences = (before: ReadonlyMap<string, unknown>, now: ReadonlyMap<string, unknown>): {added: string; removed: string} => {
  const without = (one: ReadonlyMap<string, unknown>, other: ReadonlyMap<string, unknown>) => [...one.keys()].filter(key => !other.has(key)).join(', ');
  return {added: without(now, before), removed: without(before, now)};
};

/** Time does not pass on a virtual clock while the answer is under way. */
const held = async <T>(clock: Clock, work: Promise<T>): Promise<T> => {
  using _ = clock.hold();
  return await work;
};
