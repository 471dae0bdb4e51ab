import {jsonText} from '#src/base/json/json.js';
import {createHash} from 'node:crypto';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

/**
 * The maximum number of remembered configurations, which is enough for some 50,000 objects. Forgotten ones are applied
 * again, which changes nothing.
 */
const bound = new CacheBound('applied_configurations', 16 * 1024 * 1024);

/**
 * Hashes of the configurations applied last. A configuration is not sent again if it was the last one applied to this
 * object and the cached object still has all its values. After a restart each is sent once.
 */
export class AppliedConfigurations {
  readonly #hashes = new Lru<string, string>(bound, {bytesOf: ({length}) => length});

  isApplied(kind: Kind, configuration: Frozen<KubeObject>, cached: Frozen<KubeObject>): boolean {
    return this.#hashes.get(idOf(kind, cached)) === hashOf(configuration) && holds(cached, configuration);
  }

  remember(kind: Kind, configuration: Frozen<KubeObject>, result: KubeObject): void {
    this.#hashes.set(idOf(kind, result as Frozen<KubeObject>), hashOf(configuration));
  }
}

const idOf = ({group, plural}: Kind, object: Frozen<KubeObject>): string =>
  `${group}/${plural}/${keyText(keyOf(object))}/${object.metadata?.uid ?? ''}`;

const hashOf = (configuration: Frozen<KubeObject>): string => createHash('sha256').update(jsonText(configuration)).digest('base64');

/** Returns whether a value has all values of a configuration. Maps may hold more; lists must have as many items. */
const holds = (live: unknown, configuration: unknown): boolean => {
  if (configuration === undefined || live === configuration) return true;
  if (typeof live !== 'object' || typeof configuration !== 'object' || live === null || configuration === null) return false;
  if (Array.isArray(configuration))
    return Array.isArray(live) && live.length === configuration.length && configuration.every((item, at) => holds(live[at], item));
  return Object.entries(configuration).every(([key, value]) => holds((live as Record<string, unknown>)[key], value));
};
