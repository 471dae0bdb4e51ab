import type {Naming} from '#src/api/naming.js';
import {quantityOf} from '#src/api/quantity.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {claimEvaluator} from './claims.js';
import {deviceClaimEvaluator} from './device-claims.js';
import type {QuotaEvaluator} from './evaluator.js';
import {podEvaluator} from './pods.js';
import {serviceEvaluator} from './services.js';

/** Core resources that quotas can also limit by their plain name, without `count/`. */
const legacyNames: ReadonlySet<string> = new Set(['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas']);

const prefix = 'count/';

/** Returns an evaluator that counts the objects of a resource. */
const objectCounter = (group: string, resource: string): QuotaEvaluator => {
  const names = [`${prefix}${group ? `${resource}.${group}` : resource}`, ...(group === '' && legacyNames.has(resource) ? [resource] : [])];
  return {
    group,
    resource,
    handles: (operation, subresource) => subresource === '' && operation === 'CREATE',
    matchesResource: name => names.includes(name),
    usage: () => new Map(names.map(name => [name, quantityOf(1)])),
  };
};

/** Returns the resource that a quota resource name counts: `count/deployments.apps`, or a legacy name such as `secrets`. Undefined for other names. */
export const countedResource = (name: string): {readonly group: string; readonly resource: string} | undefined => {
  if (legacyNames.has(name)) return {group: '', resource: name};
  if (!name.startsWith(prefix)) return undefined;
  const [resource = '', ...group] = name.slice(prefix.length).split('.');
  return {group: group.join('.'), resource};
};

/** Object counts are kept up to a bound, since resources come and go with their definitions. */
const bound = new CacheBound('quota_counts', 512 << 10);
/** What one takes besides its names. */
const counterBytes = 300;

/** Returns the evaluators of all resources: those of pods, services and claims, and object counts for all others. Events are not limited by quotas. */
export const quotaEvaluators = (naming: Naming, gate: (name: 'PodLevelResources') => boolean) => {
  const kindEvaluators: readonly QuotaEvaluator[] = [
    podEvaluator(naming, gate),
    serviceEvaluator,
    claimEvaluator(naming),
    deviceClaimEvaluator(naming),
  ];
  const kinds = new Map(kindEvaluators.map(evaluator => [`${evaluator.resource}.${evaluator.group}`, evaluator]));
  const counted = new Lru<string, QuotaEvaluator>(bound, {bytesOf: (_, key) => counterBytes + 4 * key.length});
  return {
    kindEvaluators,
    of(group: string, resource: string): QuotaEvaluator | undefined {
      if (resource === 'events' && (group === '' || group === naming.group('events'))) return undefined;
      const key = `${resource}.${group}`;
      const known = kinds.get(key) ?? counted.get(key);
      if (known) return known;
      const counter = objectCounter(group, resource);
      counted.set(key, counter);
      return counter;
    },
  };
};
export type QuotaEvaluators = ReturnType<typeof quotaEvaluators>;
