import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
  zeroQuantity,
  type Quantity,
} from '#src/api/quantity.js';
import type {KubeObject} from '#src/api/types.js';
import type {ResourceList} from '#src/model/pod/requests.js';
import type {QuotaEvaluator, ScopeSelector} from '#src/model/quota/evaluator.js';
import {sameScope, scopesOf, matchesAllScopes} from '#src/model/quota/scopes.js';
import type {AdmissionAttributes} from '#src/apiserver/admission/admission.js';
import type {LimitedResource} from '#src/apiserver/admission/configuration/resource-quota.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

export type Quota = ObjectOf<typeof kinds.resourceQuotas>;
type List = Readonly<Record<string, string>>;

/** A request to be charged. */
export interface Charge {
  readonly attributes: AdmissionAttributes & {readonly object: KubeObject};
  readonly evaluator: QuotaEvaluator;
  readonly limited: readonly LimitedResource[];
  readonly now: number;
}

/** The usage after a charge, by the quota's name. */
export type Used = ReadonlyMap<string, List>;

const text = (amounts: ReadonlyMap<string, Quantity>): string =>
  [...amounts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name}=${formatQuantity(amount)}`)
    .join(',');

const amountIn = (list: List | undefined, name: string): Quantity =>
  list?.[name] === undefined ? zeroQuantity : parseQuantity(list[name]);

const withoutZeros = (usage: ResourceList): ResourceList =>
  new Map([...usage].filter(([, amount]) => compareQuantities(amount, zeroQuantity) !== 0));

/** The usage of the object of a request. Throws if it is negative. */
const usageOf = ({attributes, evaluator, now}: Charge): ResourceList => {
  const usage = evaluator.usage(attributes.object, now);
  const negative = [...usage].filter(([, amount]) => compareQuantities(amount, zeroQuantity) < 0).map(([name]) => name);
  if (negative.length > 0) throw refuse(attributes, `quota usage is negative for resource(s): ${negative.sort().join(',')}`);
  return withoutZeros(usage);
};

/** What an update uses in addition to its stored object. Less usage is counted by the quota's controller, not here. */
const increaseOf = (usage: ResourceList, old: KubeObject, {evaluator, now}: Charge): ResourceList => {
  const before = evaluator.usage(old, now);
  const increase = [...usage].map(([name, amount]): [string, Quantity] => [
    name,
    subtractQuantities(amount, before.get(name) ?? zeroQuantity),
  ]);
  return new Map(increase.filter(([, amount]) => compareQuantities(amount, zeroQuantity) > 0));
};

/** Returns the quotas that apply to the request. Throws if one cannot be charged. */
const matching = (quotas: readonly Readonly<Quota>[], {attributes, evaluator}: Charge): readonly Readonly<Quota>[] =>
  quotas.filter(quota => {
    const name = quota.metadata?.name ?? '';
    const names = Object.keys(quota.status?.hard ?? {}).filter(each => evaluator.matchesResource(each));
    if (names.length === 0 || !matchesAllScopes(scopesOf(quota), attributes.object, evaluator)) return false;
    const objection = evaluator.constraintError?.(names, attributes.object);
    if (objection) throw refuse(attributes, `failed quota: ${name}: ${objection}`);
    const unknown = names.filter(each => quota.status?.used?.[each] === undefined);
    if (unknown.length > 0) throw refuse(attributes, `status unknown for quota: ${name}, resources: ${unknown.sort().join(',')}`);
    return true;
  });

const matchesAny = (name: string, {matchContains = []}: LimitedResource): boolean => matchContains.some(part => name.includes(part));

/** Throws if the request uses a resource that needs a quota and has none. */
const checkCovered = (
  quotas: readonly Readonly<Quota>[],
  found: readonly Readonly<Quota>[],
  {attributes, evaluator, limited}: Charge,
): void => {
  const covered = new Set(found.flatMap(({status}) => Object.keys(status?.hard ?? {})));
  const uncovered = [...evaluator.usage(attributes.object, 0).keys()].filter(
    name => limited.some(each => matchesAny(name, each)) && !covered.has(name),
  );
  if (uncovered.length > 0) throw refuse(attributes, `insufficient quota to consume: ${uncovered.sort().join(',')}`);
  const within = (scope: ScopeSelector) => evaluator.matchesScope?.(scope, attributes.object) ?? false;
  const requested = limited.flatMap(({matchScopes = []}) => matchScopes).filter(within);
  const offered = quotas.flatMap(scopesOf).filter(within);
  const missing = requested.filter(scope => !offered.some(each => sameScope(each, scope)));
  if (missing.length === 0) return;
  const shown = missing.map(({scopeName, operator, values = []}) => `{${scopeName} ${operator} [${values.join(' ')}]}`).join(' ');
  throw refuse(attributes, `insufficient quota to match these scopes: [${shown}]`);
};

/**
 * Charges a request to the quotas of its namespace and returns their new usage. An update is charged with its increase,
 * and in full to a quota that its stored object did not belong to. Throws the refusal of the first quota that would be
 * exceeded.
 */
export const charged = (quotas: readonly Readonly<Quota>[], charge: Charge): Used => {
  const {attributes, evaluator} = charge;
  const found = matching(quotas, charge);
  const usage = usageOf(charge);
  const {operation, oldObject} = attributes;
  const old = operation === 'UPDATE' && oldObject?.metadata?.resourceVersion ? oldObject : undefined;
  const increase = old ? increaseOf(usage, old, charge) : usage;
  const charges = found
    .map(quota => ({quota, amounts: old && matchesAllScopes(scopesOf(quota), old, evaluator) ? increase : usage}))
    .filter(({amounts}) => amounts.size > 0);
  if (found.length > 0 ? charges.length === 0 : increase.size === 0) return new Map();
  checkCovered(quotas, found, charge);
  return new Map(charges.map(({quota, amounts}) => [quota.metadata?.name ?? '', usedAfter(quota, amounts, attributes)]));
};

/**
 * Returns a quota's usage after a charge. Throws if it exceeds the quota, unless the status of an object is written.
 */
const usedAfter = ({metadata, status}: Readonly<Quota>, amounts: ResourceList, attributes: Charge['attributes']): List => {
  const own = [...amounts].filter(([name]) => status?.hard?.[name] !== undefined);
  const after = new Map(own.map(([name, amount]) => [name, addQuantities(amountIn(status?.used, name), amount)]));
  const exceeded = own.filter(([name]) => compareQuantities(after.get(name)!, amountIn(status?.hard, name)) > 0);
  if (exceeded.length > 0 && attributes.subresource !== 'status') {
    const of = (list: List | undefined) => text(new Map(exceeded.map(([name]) => [name, amountIn(list, name)])));
    throw refuse(
      attributes,
      `exceeded quota: ${metadata?.name}, requested: ${text(new Map(exceeded))}, used: ${of(status?.used)}, limited: ${of(status?.hard)}`,
    );
  }
  return {...status?.used, ...Object.fromEntries([...after].map(([name, amount]) => [name, formatQuantity(amount)]))};
};
