import {isPending, type Eventually} from '#src/base/eventually.js';
import type {Clock} from '#src/base/clock.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import {endOfPrefix, type Range} from '#src/storage/store.js';
import type {StoredObjects} from './work-estimate.js';

/** How long a count is used, in a store of this process and in a shared one. */
const [usedMs, usedWhenSharedMs] = [10_000, 60_000];
/** A store that does not answer for longer is assumed to be overloaded. */
const staleMs = 180_000;
/** The average size is that of the first objects. */
const sampledObjects = 20;

const unknownSize: StoredObjects = {count: 1_000_000_000, averageBytes: 1_500_000};

interface Entry {
  readonly stored: StoredObjects;
  readonly at: number;
}

const averageOf = ({records}: Range): number =>
  records.length === 0 ? 0 : records.reduce((bytes, {value}) => bytes + value.length, 0) / records.length;

/** The number and average size of the objects of each resource, as of a short time ago. */
export class StoredObjectCounts {
  readonly #registry: Registry;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By resource: as many as there are. */
  readonly #entries = new WeakMap<Resource, Entry>();
  /** When a count was asked for that has not come yet. */
  readonly #asked = new WeakMap<Resource, number>();

  constructor(registry: Registry, clock: Pick<Clock, 'monotonic'>) {
    this.#registry = registry;
    this.#clock = clock;
  }

  /** Returns undefined for what is not stored here, or not known yet. */
  of({resource: target}: RequestInfo): StoredObjects | undefined {
    const resource = target && this.#registry.find(target.group, target.version, target.resource)?.resource;
    if (!resource || resource.definition.review || resource.definition.virtual) return undefined;
    const entry = this.#entries.get(resource);
    const now = this.#clock.monotonic();
    const isShared = resource.settings.store.shared;
    if (entry && now - entry.at < (isShared ? usedWhenSharedMs : usedMs)) return entry.stored;
    const askedAt = this.#asked.get(resource);
    if (askedAt === undefined) return this.#read(resource, now) ?? entry?.stored;
    return now - askedAt > staleMs ? unknownSize : entry?.stored;
  }

  /** Counts the objects. Returns undefined while the store has not answered. */
  #read(resource: Resource, now: number): StoredObjects | undefined {
    const {root, settings} = resource;
    const end = endOfPrefix(root);
    const take = (count: number, range: Range): StoredObjects => {
      const stored = {count, averageBytes: averageOf(range)};
      this.#entries.set(resource, {stored, at: this.#clock.monotonic()});
      this.#asked.delete(resource);
      return stored;
    };
    let range: Eventually<Range>;
    try {
      // A store in this process knows at once which kinds have no objects.
      range = settings.store.range({start: root, end, limit: sampledObjects, near: !settings.store.shared});
    } catch {
      return undefined; // The request that reads the objects reports what is wrong with them.
    }
    if (!isPending(range) && !range.more) return take(range.records.length, range);
    const count = settings.store.count(root, end);
    if (typeof count === 'number' && !isPending(range)) return take(count, range);
    this.#asked.set(resource, now);
    Promise.all([count, range]).then(
      ([number, objects]) => take(number, objects),
      // The next request asks again; the one that needs the objects reports what is wrong with the store.
      () => this.#asked.delete(resource),
    );
    return undefined;
  }
}
