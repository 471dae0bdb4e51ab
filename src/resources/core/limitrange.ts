import {roundResourceLists} from '#src/model/resource-list-defaults.js';
import {duplicate, forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {labelKeyProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import {compareQuantities, formatQuantity, quantityMilliValue, quantityOf, quantityValue, type Quantity} from '#src/api/quantity.js';
import {createdAtColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';
import {containerResourceName, resourceName, type ResourceList} from '#src/resources/validation/resource-lists.js';
import {mayOvercommit, quantityIn} from '#src/resources/validation/resource-names.js';

type LimitRange = ObjectOf<typeof kinds.limitRanges>;
type Limit = NonNullable<LimitRange['spec']>['limits'][number];

const types = ['Pod', 'Container', 'PersistentVolumeClaim'];

/**
 * Applies the defaults of a container's limits: the limit from the maximum, the request from the limit, then from the
 * minimum.
 */
const defaultLimit = (limit: Limit): void => {
  if (limit.type !== 'Container') return;
  const limits = {...limit.max, ...limit.default};
  const requests = {...limit.min, ...limits, ...limit.defaultRequest};
  if (Object.keys(limits).length > 0) limit.default = limits;
  if (Object.keys(requests).length > 0) limit.defaultRequest = requests;
};

function* validateType(type: string, path: string): Iterable<FieldError> {
  const problems = labelKeyProblems(type);
  for (const problem of problems) yield invalid(path, type, problem);
  if (problems.length === 0 && !type.includes('/') && !types.includes(type))
    yield invalid(path, type, 'must be a standard limit type or fully qualified');
}

function* validateNames(limit: Readonly<Limit>, path: string, naming: Naming): Iterable<FieldError> {
  const rule = limit.type === 'Pod' || limit.type === 'Container' ? containerResourceName : resourceName;
  const names = function* (field: 'max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio'): Iterable<FieldError> {
    for (const name of Object.keys(limit[field] ?? {})) yield* rule(`${path}.${field}[${name}]`, name, naming);
  };
  yield* names('max');
  yield* names('min');
  for (const field of ['default', 'defaultRequest'] as const) {
    if (limit.type !== 'Pod') yield* names(field);
    else if (Object.keys(limit[field] ?? {}).length > 0)
      yield forbiddenField(`${path}.${field}`, "may not be specified when `type` is 'Pod'");
  }
  if (limit.type === 'PersistentVolumeClaim' && limit.min?.['storage'] === undefined && limit.max?.['storage'] === undefined) {
    yield required(`${path}.limits`, 'either minimum or maximum storage value is required, but neither was provided');
  }
  yield* names('maxLimitRequestRatio');
}

const longest = 2n ** 63n - 1n;
/** Larger amounts do not fit into thousandths. */
const maxInThousandths = longest / 1000n;

/**
 * Returns amounts as numbers for a ratio: in thousandths if all of them fit, else whole. One that does not fit counts
 * as zero.
 */
const amounts = (...of: readonly Quantity[]): number[] => {
  const fitting = (value: bigint): number => (value > longest ? 0 : Number(value));
  const whole = of.map(quantity => fitting(quantityValue(quantity)));
  return whole.every(value => value < maxInThousandths) ? of.map(quantity => fitting(quantityMilliValue(quantity)) / 1000) : whole;
};

const exceeds = (a: Quantity | undefined, b: Quantity | undefined): boolean =>
  a !== undefined && b !== undefined && compareQuantities(a, b) > 0;

/** Validates the amounts of one resource of one type against each other. */
function* validateAmounts(limit: Readonly<Limit>, name: string, path: string, naming: Naming): Iterable<FieldError> {
  const of = (list: ResourceList | undefined): Quantity | undefined => (list?.[name] === undefined ? undefined : quantityIn(list[name]));
  const [min, max, ratio] = [of(limit.min), of(limit.max), of(limit.maxLimitRequestRatio)];
  const [usual, request] = limit.type === 'Pod' ? [] : [of(limit.default), of(limit.defaultRequest)];
  const text = (quantity: Quantity | undefined): string => (quantity ? formatQuantity(quantity) : '');
  const wrong = (field: string, value: Quantity | undefined, detail: string): FieldError =>
    invalid(`${path}.${field}[${name}]`, text(value), detail);
  if (exceeds(min, max)) yield wrong('min', min, `min value ${text(min)} is greater than max value ${text(max)}`);
  if (exceeds(min, request))
    yield wrong('defaultRequest', request, `min value ${text(min)} is greater than default request value ${text(request)}`);
  if (exceeds(request, max))
    yield wrong('defaultRequest', request, `default request value ${text(request)} is greater than max value ${text(max)}`);
  if (exceeds(request, usual))
    yield wrong('defaultRequest', request, `default request value ${text(request)} is greater than default limit value ${text(usual)}`);
  if (exceeds(min, usual)) yield wrong('default', min, `min value ${text(min)} is greater than default value ${text(usual)}`);
  if (exceeds(usual, max)) yield wrong('default', max, `default value ${text(usual)} is greater than max value ${text(max)}`);
  if (exceeds(quantityOf(1), ratio)) yield wrong('maxLimitRequestRatio', ratio, `ratio ${text(ratio)} is less than 1`);
  if (ratio && min && max) {
    const [requested = 0, least = 0, largest = 0] = amounts(ratio, min, max);
    const most = largest / least;
    if (requested > most) yield wrong('maxLimitRequestRatio', ratio, `ratio ${text(ratio)} is greater than max/min = ${most.toFixed(6)}`);
  }
  if (!mayOvercommit(name, naming) && usual && request && compareQuantities(usual, request) !== 0) {
    yield wrong('defaultRequest', request, `default value ${text(usual)} must equal to defaultRequest value ${text(request)} in ${name}`);
  }
}

function* validate({spec}: Readonly<LimitRange>, naming: Naming): Iterable<FieldError> {
  const limits = spec?.limits ?? [];
  for (const [i, limit] of limits.entries()) {
    const path = `spec.limits[${i}]`;
    yield* validateType(limit.type ?? '', `${path}.type`);
    if (limits.findIndex(({type}) => type === limit.type) < i) yield duplicate(`${path}.type`, limit.type);
    yield* validateNames(limit, path, naming);
    const lists = [
      limit.max,
      limit.min,
      ...(limit.type === 'Pod' ? [] : [limit.default, limit.defaultRequest]),
      limit.maxLimitRequestRatio,
    ];
    for (const name of new Set(lists.flatMap(list => Object.keys(list ?? {})))) yield* validateAmounts(limit, name, path, naming);
  }
}

/** LimitRange: the minimum, maximum and default resources of pods, containers and claims of a namespace. */
export const limitRanges = defineResource<LimitRange>({
  kind: kinds.limitRanges,
  discovery: {shortNames: ['limits']},
  metadata: {nameProblems: subdomainName},
  update: {createsMissing: true},
  default(object) {
    // Missing limits are shown as null.
    const spec = (object.spec ??= {limits: null as never});
    if (!spec.limits?.length) spec.limits = null as never;
    for (const limit of spec.limits ?? []) {
      roundResourceLists(limit.max, limit.min, limit.default, limit.defaultRequest, limit.maxLimitRequestRatio);
      defaultLimit(limit);
    }
  },
  main: {
    metadata: 'whole',
    writes: {create: ['metadata', 'spec'], update: ['metadata', 'spec']},
    prepare({metadata}, old, {random}) {
      if (!old && metadata && !metadata.name) metadata.name = random.uuid();
    },
    validate: (object, _old, {naming}) => validate(object, naming),
  },
  presentation: {columns: [nameColumn, createdAtColumn]},
});
