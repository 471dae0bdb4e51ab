// What a quota limits, which evaluators count it, and whether its usage is up to date. Quotas may limit very many
// names, so results are kept per cached quota.

import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {addQuantities, compareQuantities, formatQuantity, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {Steps} from '#src/base/steps.js';
import type {Yielder} from '#src/base/turn.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import {countedResource, type QuotaEvaluators} from '#src/model/quota/evaluators.js';
import {scopesOf, matchesAllScopes} from '#src/model/quota/scopes.js';

export type Quota = ObjectOf<typeof kinds.resourceQuotas>;
type List = Readonly<Record<string, string>>;

const isSame = (text: string, other: string | undefined): boolean =>
  text === other || (other !== undefined && compareQuantities(parseQuantity(text), parseQuantity(other)) === 0);

/** Whether two lists hold equal quantities for the same names, in whatever format. */
export const sameAmounts = (a: List = {}, b: List = {}): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every(name => isSame(a[name]!, b[name]));
};

/** Memoizes a function per cached quota: it has several callers, and a quota may limit very many resources. */
const memoized = <V>(find: (quota: Frozen<Quota>) => V): ((quota: Frozen<Quota>) => V) => {
  const known = new WeakMap<object, {readonly value: V}>();
  return quota => {
    let found = known.get(quota);
    if (!found) known.set(quota, (found = {value: find(quota)}));
    return found.value;
  };
};

/** Whether the limits have changed since the quota was last counted. */
export const hasNewLimits = memoized(({spec, status}) => !sameAmounts(spec?.hard, status?.hard));

/** Whether the usage of a limited resource is unknown. */
export const isUncounted = memoized(({spec, status}) => Object.keys(spec?.hard ?? {}).some(name => status?.used?.[name] === undefined));

/** The names of the resources that a quota limits. */
export const limitedNames = memoized(({spec}) => Object.keys(spec?.hard ?? {}));

/** Returns the evaluators of all served resources that a quota limits. Runs in steps: a quota may limit very many. */
export const evaluatorsOf = function* (
  quota: Frozen<Quota>,
  evaluators: QuotaEvaluators,
  isServed: (resource: string, group: string) => boolean,
): Steps<readonly QuotaEvaluator[]> {
  const names = limitedNames(quota);
  const found = new Set<QuotaEvaluator>();
  for (const evaluator of evaluators.kindEvaluators) {
    if (names.some(evaluator.matchesResource)) found.add(evaluator);
    yield;
  }
  for (const [index, name] of names.entries()) {
    if (index % namesPerStep === namesPerStep - 1) yield;
    const resource = countedResource(name);
    const evaluator =
      resource && isServed(resource.resource, resource.group) ? evaluators.of(resource.group, resource.resource) : undefined;
    if (evaluator) found.add(evaluator);
  }
  return [...found];
};

/** How many names one step processes. */
const namesPerStep = 500;

const countedIn = (namespace: string | undefined, resource: string, group: string): string => `${namespace ?? ''} ${resource}.${group}`;

/** A quota that limits more names than this is indexed by its namespace alone. */
const maxIndexedNames = 200;
const manyIn = (namespace: string | undefined): string => `${namespace ?? ''} many`;

/**
 * Returns a function that finds the quotas of a namespace that count an evaluator's resource. To be created once per
 * cache.
 */
export const quotasCounting = (
  quotas: Lister<Quota>,
  evaluators: QuotaEvaluators,
): ((namespace: string | undefined, evaluator: QuotaEvaluator) => readonly Frozen<Quota>[]) => {
  const values = memoized((quota): readonly string[] => {
    const namespace = quota.metadata?.namespace;
    const names = limitedNames(quota);
    if (names.length > maxIndexedNames) return [manyIn(namespace)];
    const special = evaluators.kindEvaluators.filter(({matchesResource}) => names.some(matchesResource));
    const counted = names.flatMap(name => countedResource(name) ?? []);
    return [...new Set([...special, ...counted].map(({resource, group}) => countedIn(namespace, resource, group)))];
  });
  const index: Index<Quota> = {name: 'counted', values};
  return (namespace, evaluator) => [
    ...quotas.by(index, countedIn(namespace, evaluator.resource, evaluator.group)),
    ...quotas.by(index, manyIn(namespace)).filter(quota => limitedNames(quota).some(evaluator.matchesResource)),
  ];
};

/** Returns the usage of an object, as its evaluator computes it. */
export type Usage = (evaluator: QuotaEvaluator, object: Frozen<KubeObject>, now: number) => ResourceList;

/** Memoizes the usage of each cached object, except objects being deleted: their usage may decrease over time. */
export const cachedUsage = (): Usage => {
  const known = new WeakMap<QuotaEvaluator, WeakMap<object, ResourceList>>();
  return (evaluator, object, now) => {
    if (object.metadata?.deletionTimestamp) return evaluator.usage(object, now);
    let ofEvaluator = known.get(evaluator);
    if (!ofEvaluator) known.set(evaluator, (ofEvaluator = new WeakMap()));
    let used = ofEvaluator.get(object);
    if (!used) ofEvaluator.set(object, (used = evaluator.usage(object, now)));
    return used;
  };
};

/** The objects that a quota counts, and how their usage is computed. */
export interface Counted {
  readonly evaluator: QuotaEvaluator;
  readonly objects: readonly Frozen<KubeObject>[];
  readonly usage: Usage;
  readonly now: number;
  readonly pieces: Yielder;
}

/**
 * Returns the total usage of the objects for each name that the quota limits, zero included. Pauses between objects
 * where there are many.
 */
export const usageOf = async (quota: Frozen<Quota>, {evaluator, objects, usage, now, pieces}: Counted): Promise<Record<string, string>> => {
  const sums = new Map<string, Quantity>(
    limitedNames(quota)
      .filter(evaluator.matchesResource)
      .map(name => [name, zeroQuantity]),
  );
  const scopes = scopesOf(quota);
  for (const object of objects) {
    const pause = pieces.pause();
    if (pause) await pause;
    if (!matchesAllScopes(scopes, object, evaluator)) continue;
    for (const [name, amount] of usage(evaluator, object, now)) {
      const sum = sums.get(name);
      if (sum) sums.set(name, compareQuantities(sum, zeroQuantity) === 0 ? amount : addQuantities(sum, amount));
    }
  }
  return Object.fromEntries([...sums].map(([name, sum]) => [name, formatQuantity(sum)]));
};
