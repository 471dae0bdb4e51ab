import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {Identity} from './identity.js';

/** The most entries; each was requested or deleted recently. */
const maxEntries = 500;
const bound = new CacheBound('absent_owners', 1 << 20);

const textOf = ({apiVersion, kind, namespace, name, uid}: Identity): string => `${uid} ${apiVersion} ${kind} ${namespace} ${name}`;

/** Caches owners that do not exist, so that the server is not asked for each dependent. A uid is never reused. */
export class AbsentOwners {
  readonly #known = new Lru<string, true>(bound, {bytesOf: () => 0, maxEntries});

  add(identity: Identity): void {
    this.#known.set(textOf(identity), true);
  }

  has(identity: Identity): boolean {
    return this.#known.get(textOf(identity)) === true;
  }
}
