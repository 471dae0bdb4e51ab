import type {Kind} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {InOrder} from '#src/base/in-order.js';
import {StoreClosed} from '#src/storage/errors.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import {allOf} from './list.js';
import {objectInPieces} from './read.js';
import type {Registry, Resource} from './registry.js';

/** Hears of an object that came, changed or went. What it is given is shared and must not be changed; of one that went it has nothing but name and namespace. */
export type Heard<T extends KubeObject> = (object: Readonly<T>, gone: boolean) => void;

/** Who follows the records of a resource. What `take` promises is waited for before the next is told. */
export interface RecordFollower {
  /** A record came or changed, or the one of that key has gone. */
  take(key: string, record: StoredRecord | undefined): void | Promise<void>;
  /** Everything up to that revision was told; at the beginning, and after each change. */
  reached?(revision: number): void;
}

/** A watch that ends is begun again at once, or after so long where it lasted no longer than that. */
const againMs = 1000;

/**
 * Tells of every record of a resource, then of each change, in order, until the signal aborts or the store closes. Resolves once what there was at the beginning was
 * told. Where the history to go on from is lost, the records are listed anew and what differs is told. An error of the follower is reported, and the next is told all the same.
 */
export const followRecords = (resource: Resource, follower: RecordFollower, signal: AbortSignal): Promise<void> => new Following(resource, follower, signal).begin();

class Following {
  readonly #resource: Resource;
  readonly #follower: RecordFollower;
  readonly #signal: AbortSignal;
  /** The revision of each key that was told. */
  #known = new Map<string, number>();
  #watch: Disposable | undefined;

  constructor(resource: Resource, follower: RecordFollower, signal: AbortSignal) {
    this.#resource = resource;
    this.#follower = follower;
    this.#signal = signal;
  }

  async begin(): Promise<void> {
    this.#signal.addEventListener('abort', () => this.#watch?.[Symbol.dispose](), {once: true});
    await this.#listAndWatch();
  }

  async #listAndWatch(): Promise<void> {
    const listed = new Map<string, number>();
    let at = 0;
    for await (const {revision, records} of allOf(this.#resource)) {
      at = revision;
      for (const record of records) {
        if (this.#signal.aborted) return;
        listed.set(record.key, record.revision);
        const told = this.#known.get(record.key) === record.revision ? undefined : this.#follower.take(record.key, record);
        if (told) await told;
      }
    }
    if (this.#signal.aborted) return;
    for (const key of this.#known.keys()) if (!listed.has(key)) await this.#follower.take(key, undefined);
    this.#known = listed;
    this.#follower.reached?.(at);
    this.#follow(at);
  }

  #follow(after: number): void {
    const {settings: {store, clock}, root} = this.#resource;
    const begunAt = clock.monotonic();
    const order = new InOrder(error => clock.unhandled(error));
    this.#watch = store.watch(
      {start: root, end: endOfPrefix(root), after},
      {
        changes: batch => {
          for (const {key, record, revision} of batch) {
            order.add(() => {
              if (this.#signal.aborted) return;
              if (record) this.#known.set(key, record.revision);
              else this.#known.delete(key);
              return this.#follower.take(key, record);
            });
            order.add(() => this.#follower.reached?.(revision));
          }
        },
        // Without an error the store is closed.
        ended: error => {
          if (error) order.add(() => void this.#again(clock.monotonic() - begunAt < againMs));
        },
      },
    );
  }

  async #again(waits: boolean): Promise<void> {
    const {clock} = this.#resource.settings;
    for (let isLate = waits; !this.#signal.aborted; isLate = true) {
      try {
        if (isLate) await sleep(clock, againMs, this.#signal);
        return await this.#listAndWatch();
      } catch (error) {
        if (error instanceof StoreClosed) return;
        if (!this.#signal.aborted) clock.unhandled(error);
      }
    }
  }
}

/**
 * Tells of every object of a kind that there is, then of each change, in order, until the signal aborts. Resolves once what there was at the beginning
 * was told. A write is told of before or with its answer: the store sees to that; one of a long object as soon as that is parsed.
 */
export const followKind = <T extends KubeObject>(registry: Registry, kind: Kind<T>, heard: Heard<T>, signal: AbortSignal): Promise<void> => {
  const resource = registry.of(kind as Kind);
  return followRecords(
    resource,
    {
      take(key, record) {
        if (!record) return heard({metadata: resource.placeOf(key)} as T, true);
        const object = objectInPieces(resource, record);
        if (object instanceof Promise) return object.then(parsed => heard(parsed as Readonly<T>, false));
        heard(object as Readonly<T>, false);
      },
    },
    signal,
  );
};
