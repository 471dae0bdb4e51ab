import {sameJson} from '#src/api/equal.js';
import {canonicalQuantity} from '#src/api/quantity.js';
import type {Autoscaler, MetricSpec} from './metrics.js';
import {
  fields,
  integer,
  isFields,
  listOf,
  quantity,
  parseGuarded,
  reference,
  selector,
  string,
  type Fields,
  type Guard,
} from './v1-guards.js';

export type MetricStatus = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number];

const defined = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Converts one metric source between its older and newer form. */
interface Source {
  older(spec: Fields, amount: Fields): Fields;
  newer(older: Fields): {readonly spec: Fields; readonly amount: Fields};
}

/** The names of amounts, which differ between targets and current values. */
export interface AmountNames {
  readonly amount: 'target' | 'current';
  readonly value: string;
  readonly averageValue: string;
  readonly averageUtilization: string;
}

export const target: AmountNames = {
  amount: 'target',
  value: 'targetValue',
  averageValue: 'targetAverageValue',
  averageUtilization: 'targetAverageUtilization',
};
export const current: AmountNames = {
  amount: 'current',
  value: 'currentValue',
  averageValue: 'currentAverageValue',
  averageUtilization: 'currentAverageUtilization',
};

const metricOf = (name: unknown, selector: unknown): Fields => defined({name, selector});

const amountIn = (value: unknown): string | undefined => (value === undefined ? undefined : canonicalQuantity(String(value)));

/** How amounts are written in both forms: those of targets have a type. */
const amountsIn = (names: AmountNames) => {
  const isTarget = names.amount === 'target';
  const typed = (type: string, amount: Fields): Fields => (isTarget ? {type, ...defined(amount)} : defined(amount));
  // Current values are held by value in the older form: zero if absent.
  const measured = (amount: unknown): unknown => (isTarget ? amount : (amount ?? '0'));
  const given = (amount: unknown): string | undefined => (isTarget ? amountIn(amount) : amountIn(amount ?? 0));
  return {typed, measured, given};
};

const objectSource = (names: AmountNames): Source => {
  const {typed} = amountsIn(names);
  return {
    older: ({describedObject, metric}, {value, averageValue}) =>
      defined({
        target: describedObject,
        metricName: (metric as Fields)['name'],
        [names.value]: value ?? '0',
        selector: (metric as Fields)['selector'],
        averageValue,
      }),
    newer: older => ({
      spec: {describedObject: older['target'], metric: metricOf(older['metricName'], older['selector'])},
      amount: typed(older['averageValue'] === undefined ? 'Value' : 'AverageValue', {
        // In the older form the value is required beside an average.
        value: older['averageValue'] === undefined ? amountIn(older[names.value] ?? 0) : undefined,
        averageValue: amountIn(older['averageValue']),
      }),
    }),
  };
};

const podsSource = (names: AmountNames): Source => {
  const {typed, measured} = amountsIn(names);
  return {
    older: ({metric}, {averageValue}) =>
      defined({
        metricName: (metric as Fields)['name'],
        [names.averageValue]: measured(averageValue),
        selector: (metric as Fields)['selector'],
      }),
    newer: older => ({
      spec: {metric: metricOf(older['metricName'], older['selector'])},
      amount: typed('AverageValue', {averageValue: amountIn(older[names.averageValue] ?? 0)}),
    }),
  };
};

/** A source whose amount is a share of requests, or an average. Its fields are the name and, at the end, `others`. */
const shareSource = (names: AmountNames, ...others: readonly string[]): Source => {
  const {typed, measured, given} = amountsIn(names);
  const otherFields = (from: Fields): Fields => Object.fromEntries(others.map(name => [name, from[name]]));
  return {
    older: (spec, amount) =>
      defined({
        name: spec['name'],
        [names.averageUtilization]: amount['averageUtilization'],
        [names.averageValue]: measured(amount['averageValue']),
        ...otherFields(spec),
      }),
    newer: older => ({
      spec: {name: older['name'], ...otherFields(older)},
      amount: typed(older[names.averageUtilization] === undefined ? 'AverageValue' : 'Utilization', {
        averageUtilization: older[names.averageUtilization],
        averageValue: given(older[names.averageValue]),
      }),
    }),
  };
};

const externalSource = (names: AmountNames): Source => {
  const {typed, measured, given} = amountsIn(names);
  return {
    older: ({metric}, {value, averageValue}) =>
      defined({
        metricName: (metric as Fields)['name'],
        metricSelector: (metric as Fields)['selector'],
        [names.value]: measured(value),
        [names.averageValue]: averageValue,
      }),
    newer: older => ({
      spec: {metric: metricOf(older['metricName'], older['metricSelector'])},
      amount: typed(older[names.value] === undefined ? 'AverageValue' : 'Value', {
        value: given(older[names.value]),
        averageValue: amountIn(older[names.averageValue]),
      }),
    }),
  };
};

const sourcesIn = (names: AmountNames): Readonly<Record<string, Source>> => ({
  object: objectSource(names),
  pods: podsSource(names),
  resource: shareSource(names),
  containerResource: shareSource(names, 'container'),
  external: externalSource(names),
});

const converters = {target: sourcesIn(target), current: sourcesIn(current)};

/** The field for a whole metric that the older form cannot represent; no other reader uses it. */
const whole = 'v2';

const inOlderForm = (names: AmountNames, metric: MetricSpec | MetricStatus): Fields => {
  const result: Fields = {type: metric.type};
  for (const [name, {older}] of Object.entries(converters[names.amount])) {
    const source = (metric as unknown as Record<string, Fields | undefined>)[name];
    if (!source) continue;
    const {[names.amount]: amount, ...spec} = source;
    result[name] = older({metric: {}, ...spec}, (amount ?? {}) as Fields);
  }
  return result;
};

/** Reports whether everything in one JSON value is also in the other. */
const isWithin = (one: unknown, other: unknown): boolean =>
  isFields(one) ? isFields(other) && Object.entries(one).every(([name, value]) => isWithin(value, other[name])) : sameJson(one, other);

/** Returns a metric as v1 annotations write it. */
export const olderMetric = (names: AmountNames, metric: MetricSpec | MetricStatus): Fields => {
  const older = inOlderForm(names, metric);
  const newer = newerMetric(names, older);
  // Current values may come back with additional zeros.
  return (names.amount === 'current' ? isWithin(metric, newer) : sameJson(newer, metric)) ? older : {...older, [whole]: metric};
};

/** Parses a metric of v1 annotations. */
export const newerMetric = (names: AmountNames, metric: Fields): Fields => {
  if (metric[whole]) return metric[whole] as Fields;
  const result: Fields = {type: metric['type']};
  for (const [name, {newer}] of Object.entries(converters[names.amount])) {
    const source = metric[name] as Fields | undefined;
    if (!source) continue;
    const {spec, amount} = newer(source);
    result[name] = {...spec, [names.amount]: amount};
  }
  return result;
};

/** Returns the guard of a metric stored as a whole. */
const wholeGuard = (names: AmountNames): Guard => {
  const amount = fields({type: string, value: quantity, averageValue: quantity, averageUtilization: integer});
  const known = fields({
    [names.amount]: amount,
    metric: fields({name: string, selector}),
    describedObject: reference,
    name: string,
    container: string,
  });
  const source: Guard = value => known(value) && isFields((value as Fields)[names.amount]);
  return fields({type: string, object: source, pods: source, resource: source, containerResource: source, external: source});
};

const guardOf = (names: AmountNames): Guard => {
  const share = {name: string, container: string, [names.averageUtilization]: integer, [names.averageValue]: quantity};
  const measured = {metricName: string, [names.value]: quantity, [names.averageValue]: quantity};
  return fields({
    type: string,
    [whole]: wholeGuard(names),
    object: fields({...measured, target: reference, selector, averageValue: quantity}),
    pods: fields({...measured, selector}),
    resource: fields(share),
    containerResource: fields(share),
    external: fields({...measured, metricSelector: selector}),
  });
};

const guards = {target: listOf(guardOf(target)), current: listOf(guardOf(current))};

/** Parses an annotation of metrics; undefined if any of it is malformed. */
export const metricsIn = (names: AmountNames, text: string | undefined): Fields[] | undefined => parseGuarded(text, guards[names.amount]);
