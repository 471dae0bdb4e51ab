import type {Index, Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {addQuantities, compareQuantities, formatQuantity, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {Pieces} from '#src/base/turn.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {QuotaEvaluator} from '#src/model/quota/evaluator.js';
import {countedResource, type QuotaEvaluators} from '#src/model/quota/evaluators.js';
import {scopesOf, matchesAllScopes} from '#src/model/quota/scopes.js';

export type Quota = ObjectOf<typeof kinds.resourceQuotas>;
type List = Readonly<Record<string, string>>;

/** Whether two lists mean the same amounts of the same things, however they are written. */
export const sameAmounts = (a: List = {}, b: List = {}): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, text]) => b[name] !== undefined && compareQuantities(parseQuantity(text), parseQuantity(b[name])) === 0);

/** Whether the limits have changed since the quota was last counted. */
export const hasNewLimits = ({spec, status}: Frozen<Quota>): boolean => !sameAmounts(spec?.hard, status?.hard);

/** Whether something is limited whose use is not known. */
export const isUncounted = ({spec, status}: Frozen<Quota>): boolean => Object.keys(spec?.hard ?? {}).some(name => status?.used?.[name] === undefined);

/** Everything that must be counted for a quota. */
export const evaluatorsOf = ({spec}: Frozen<Quota>, evaluators: QuotaEvaluators): readonly QuotaEvaluator[] => {
  const names = Object.keys(spec?.hard ?? {});
  const counted = names.flatMap(name => {
    const resource = countedResource(name);
    return (resource && evaluators.of(resource.group, resource.resource)) ?? [];
  });
  return [...new Set([...evaluators.kindEvaluators.filter(({matchesResource}) => names.some(matchesResource)), ...counted])];
};

const countedIn = (namespace: string | undefined, {group, resource}: QuotaEvaluator): string => `${namespace ?? ''} ${resource}.${group}`;

/** Finds the quotas of a namespace that count what an evaluator reckons. To be made once for each cache. */
export const quotasCounting = (quotas: Lister<Quota>, evaluators: QuotaEvaluators): ((namespace: string | undefined, evaluator: QuotaEvaluator) => readonly Frozen<Quota>[]) => {
  const index: Index<Quota> = {name: 'counted', values: quota => evaluatorsOf(quota, evaluators).map(evaluator => countedIn(quota.metadata?.namespace, evaluator))};
  return (namespace, evaluator) => quotas.by(index, countedIn(namespace, evaluator));
};

/** What an object uses, as an evaluator reckons it. */
export type Usage = (evaluator: QuotaEvaluator, object: Frozen<KubeObject>, now: number) => ResourceList;

/** Reckons the usage of each cached object once, however many quotas and changes ask for it. Those on their way out are reckoned anew each time: they may count less as time goes by. */
export const rememberedUsage = (): Usage => {
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

/** The objects that a quota counts, and how. */
export interface Counted {
  readonly evaluator: QuotaEvaluator;
  readonly objects: readonly Frozen<KubeObject>[];
  readonly usage: Usage;
  readonly now: number;
  readonly pieces: Pieces;
}

/** What objects use together, of what the quota limits; nothing used is told as zero. Gives everybody else turns where there are many. */
export const usageOf = async (quota: Frozen<Quota>, {evaluator, objects, usage, now, pieces}: Counted): Promise<Record<string, string>> => {
  const sums = new Map<string, Quantity>(Object.keys(quota.spec?.hard ?? {}).filter(evaluator.matchesResource).map(name => [name, zeroQuantity]));
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
