import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {PodSpec} from '#src/api/pod.js';
import {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantityMilliValue,
  quantityNumber,
  quantityValue,
  type Quantity,
} from '#src/api/quantity.js';
import {containerLimits, containerRequests, formatResourceList} from '#src/model/pod/requests.js';
import {isPodLevelResource} from '#src/model/resource-names.js';

export type LimitRange = ObjectOf<typeof kinds.limitRanges>;
type Limit = NonNullable<LimitRange['spec']>['limits'][number];
export type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

type List = Readonly<Record<string, string>>;

/** The requests and limits of something. */
interface Usage {
  readonly requests: List;
  readonly limits: List;
}

const zero = parseQuantity('0');
const amount = (list: List, name: string): Quantity | undefined => (list[name] === undefined ? undefined : parseQuantity(list[name]));

/** One constraint of a range on a resource: returns why a usage violates it. */
type Demand = (
  what: string,
  type: string,
  enforced: Quantity,
  request: Quantity | undefined,
  limit: Quantity | undefined,
) => string | undefined;

const minimum: Demand = (what, type, enforced, request, limit) => {
  const rule = `minimum ${what} usage per ${type} is ${formatQuantity(enforced)}`;
  if (!request) return `${rule}.  No request is specified`;
  if (compareQuantities(request, enforced) < 0) return `${rule}, but request is ${formatQuantity(request)}`;
  return limit && compareQuantities(limit, enforced) < 0 ? `${rule}, but limit is ${formatQuantity(limit)}` : undefined;
};

const maximum: Demand = (what, type, enforced, request, limit) => {
  const rule = `maximum ${what} usage per ${type} is ${formatQuantity(enforced)}`;
  if (!limit) return `${rule}.  No limit is specified`;
  if (compareQuantities(limit, enforced) > 0) return `${rule}, but limit is ${formatQuantity(limit)}`;
  return request && compareQuantities(request, enforced) > 0 ? `${rule}, but request is ${formatQuantity(request)}` : undefined;
};

const maximumRequest: Demand = (what, type, enforced, request) => {
  const rule = `maximum ${what} usage per ${type} is ${formatQuantity(enforced)}`;
  if (!request) return `${rule}.  No request is specified`;
  return compareQuantities(request, enforced) > 0 ? `${rule}, but request is ${formatQuantity(request)}` : undefined;
};

/** Large quantities are compared by whole units, as the reported ratio is. */
const measured = (quantity: Quantity, bySmallParts: boolean): number =>
  Number(bySmallParts ? quantityMilliValue(quantity) : quantityValue(quantity));
const largestInParts = 9_223_372_036_854_775n;

const ratio: Demand = (what, type, enforced, request, limit) => {
  const rule = `${what} max limit to request ratio per ${type} is ${formatQuantity(enforced)}`;
  if (!request || compareQuantities(request, zero) === 0) return `${rule}, but no request is specified or request is 0`;
  if (!limit || compareQuantities(limit, zero) === 0) return `${rule}, but no limit is specified or limit is 0`;
  const small = [request, limit, enforced].every(quantity => quantityValue(quantity) <= largestInParts);
  const observed = measured(limit, small) / measured(request, small);
  return observed > quantityNumber(enforced) ? `${rule}, but provided ratio is ${observed.toFixed(6)}` : undefined;
};

function* broken(demand: Demand, type: string, enforced: List | undefined, {requests, limits}: Usage): Iterable<string> {
  for (const [name, text] of Object.entries(enforced ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const why = demand(name, type, parseQuantity(text), amount(requests, name), amount(limits, name));
    if (why) yield why;
  }
}

function* objectionsTo(usage: Usage, {type, min, max, maxLimitRequestRatio}: Limit): Iterable<string> {
  yield* broken(minimum, type, min, usage);
  yield* broken(maximum, type, max, usage);
  yield* broken(ratio, type, maxLimitRequestRatio, usage);
}

const overridden = (sums: List, own: List | undefined): List => ({
  ...sums,
  ...Object.fromEntries(Object.entries(own ?? {}).filter(([name]) => isPodLevelResource(name))),
});

/** The usage of the pod as a whole: if allowed, its own values take precedence over the sum of its containers. */
const podUsage = (spec: Readonly<PodSpec>, podLevel: boolean): Usage => ({
  requests: overridden(formatResourceList(containerRequests(spec)), podLevel ? spec.resources?.requests : undefined),
  limits: overridden(formatResourceList(containerLimits(spec)), podLevel ? spec.resources?.limits : undefined),
});

/** Returns how many values of a range are compared with those of that number of containers, or of one claim. */
export const comparisonsWith = ({spec: range}: Readonly<LimitRange>, containers: number): number => {
  let comparisons = 0;
  for (const {type, min, max, default: usual, defaultRequest, maxLimitRequestRatio} of range?.limits ?? []) {
    const times = type === 'Container' ? containers : 1;
    for (const list of [min, max, usual, defaultRequest, maxLimitRequestRatio]) if (list) comparisons += times * Object.keys(list).length;
  }
  return comparisons;
};

/** Why a pod violates a range; each constraint separately. */
export function* podObjections(spec: Readonly<PodSpec>, {spec: range}: Readonly<LimitRange>, podLevel: boolean): Iterable<string> {
  for (const limit of range?.limits ?? []) {
    if (limit.type === 'Container') {
      for (const {resources} of [...(spec.containers ?? []), ...(spec.initContainers ?? [])])
        yield* objectionsTo({requests: resources?.requests ?? {}, limits: resources?.limits ?? {}}, limit);
    }
    if (limit.type === 'Pod') yield* objectionsTo(podUsage(spec, podLevel), limit);
  }
}

/** Why a claim violates a range. Claims need no limits. */
export function* claimObjections({spec}: Readonly<Claim>, {spec: range}: Readonly<LimitRange>): Iterable<string> {
  const usage = {requests: spec?.resources?.requests ?? {}, limits: {}};
  for (const {type, min, max} of range?.limits ?? []) {
    if (type !== 'PersistentVolumeClaim') continue;
    yield* broken(minimum, type, min, usage);
    yield* broken(maximumRequest, type, max, usage);
  }
}
