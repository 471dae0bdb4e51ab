import {sameJson} from '#src/api/equal.js';
import {canonicalQuantity} from '#src/api/quantity.js';
import type {Autoscaler, MetricSpec} from './metrics.js';
import {fields, integer, isFields, listOf, quantity, readShaped, reference, selector, string, type Fields, type Shape} from './v1-shapes.js';

export type MetricStatus = NonNullable<NonNullable<Autoscaler['status']>['currentMetrics']>[number];

const defined = (fields: Fields): Fields => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** What the older form of a metric calls its parts; each pair turns one form into the other. */
interface Source {
  older(spec: Fields, amount: Fields): Fields;
  newer(older: Fields): {readonly spec: Fields; readonly amount: Fields};
}

/** The names of amounts, which differ between what is aimed for and what is. */
export interface Words {
  readonly amount: 'target' | 'current';
  readonly value: string;
  readonly averageValue: string;
  readonly averageUtilization: string;
}

export const target: Words = {amount: 'target', value: 'targetValue', averageValue: 'targetAverageValue', averageUtilization: 'targetAverageUtilization'};
export const current: Words = {amount: 'current', value: 'currentValue', averageValue: 'currentAverageValue', averageUtilization: 'currentAverageUtilization'};

const metricOf = (name: unknown, selector: unknown): Fields => defined({name, selector});

const amountIn = (value: unknown): string | undefined => (value === undefined ? undefined : canonicalQuantity(String(value)));

const sourcesIn = (words: Words): Readonly<Record<string, Source>> => {
  const isTarget = words.amount === 'target';
  const typed = (type: string, amount: Fields): Fields => (isTarget ? {type, ...defined(amount)} : defined(amount));
  const share = (older: Fields): Fields =>
    typed(older[words.averageUtilization] === undefined ? 'AverageValue' : 'Utilization', {
      averageUtilization: older[words.averageUtilization],
      averageValue: isTarget ? amountIn(older[words.averageValue]) : amountIn(older[words.averageValue] ?? 0),
    });
  // What is measured is held by value in the older form: zero where nothing is said.
  const measured = (amount: unknown): unknown => (isTarget ? amount : (amount ?? '0'));
  const olderShare = (amount: Fields): Fields => ({[words.averageUtilization]: amount['averageUtilization'], [words.averageValue]: measured(amount['averageValue'])});
  return {
    object: {
      older: ({describedObject, metric}, {value, averageValue}) =>
        defined({target: describedObject, metricName: (metric as Fields)['name'], [words.value]: value ?? '0', selector: (metric as Fields)['selector'], averageValue}),
      newer: older => ({
        spec: {describedObject: older['target'], metric: metricOf(older['metricName'], older['selector'])},
        amount: typed(older['averageValue'] === undefined ? 'Value' : 'AverageValue', {
          // Beside an average the older form cannot leave the value out.
          value: older['averageValue'] === undefined ? amountIn(older[words.value] ?? 0) : undefined,
          averageValue: amountIn(older['averageValue']),
        }),
      }),
    },
    pods: {
      older: ({metric}, {averageValue}) => defined({metricName: (metric as Fields)['name'], [words.averageValue]: measured(averageValue), selector: (metric as Fields)['selector']}),
      newer: older => ({spec: {metric: metricOf(older['metricName'], older['selector'])}, amount: typed('AverageValue', {averageValue: amountIn(older[words.averageValue] ?? 0)})}),
    },
    resource: {
      older: ({name}, amount) => defined({name, ...olderShare(amount)}),
      newer: older => ({spec: {name: older['name']}, amount: share(older)}),
    },
    containerResource: {
      older: ({name, container}, amount) => defined({name, ...olderShare(amount), container}),
      newer: older => ({spec: {name: older['name'], container: older['container']}, amount: share(older)}),
    },
    external: {
      older: ({metric}, {value, averageValue}) =>
        defined({metricName: (metric as Fields)['name'], metricSelector: (metric as Fields)['selector'], [words.value]: measured(value), [words.averageValue]: averageValue}),
      newer: older => ({
        spec: {metric: metricOf(older['metricName'], older['metricSelector'])},
        amount: typed(older[words.value] === undefined ? 'AverageValue' : 'Value', {
          value: isTarget ? amountIn(older[words.value]) : amountIn(older[words.value] ?? 0),
          averageValue: amountIn(older[words.averageValue]),
        }),
      }),
    },
  };
};

const ways = {target: sourcesIn(target), current: sourcesIn(current)};

/** A metric that says more than the older form can hold goes along whole, under a name that nobody else reads. */
const whole = 'v2';

const inOlderForm = (words: Words, metric: MetricSpec | MetricStatus): Fields => {
  const result: Fields = {type: metric.type};
  for (const [name, {older}] of Object.entries(ways[words.amount])) {
    const source = (metric as unknown as Record<string, Fields | undefined>)[name];
    if (!source) continue;
    const {[words.amount]: amount, ...spec} = source;
    result[name] = older({metric: {}, ...spec}, (amount ?? {}) as Fields);
  }
  return result;
};

/** Whether everything that one JSON value says stands in another. */
const isWithin = (one: unknown, other: unknown): boolean =>
  isFields(one) ? isFields(other) && Object.entries(one).every(([name, value]) => isWithin(value, other[name])) : sameJson(one, other);

/** A metric as the first version's annotations tell it. */
export const olderMetric = (words: Words, metric: MetricSpec | MetricStatus): Fields => {
  const older = inOlderForm(words, metric);
  const newer = newerMetric(words, older);
  // What is measured may come back with zeros that it did not have.
  return (words.amount === 'current' ? isWithin(metric, newer) : sameJson(newer, metric)) ? older : {...older, [whole]: metric};
};

/** The metric that such a telling means. */
export const newerMetric = (words: Words, metric: Fields): Fields => {
  if (metric[whole]) return metric[whole] as Fields;
  const result: Fields = {type: metric['type']};
  for (const [name, {newer}] of Object.entries(ways[words.amount])) {
    const source = metric[name] as Fields | undefined;
    if (!source) continue;
    const {spec, amount} = newer(source);
    result[name] = {...spec, [words.amount]: amount};
  }
  return result;
};

/** What a metric that goes along whole looks like. */
const wholeShape = (words: Words): Shape => {
  const amount = fields({type: string, value: quantity, averageValue: quantity, averageUtilization: integer});
  const known = fields({[words.amount]: amount, metric: fields({name: string, selector}), describedObject: reference, name: string, container: string});
  const source: Shape = value => known(value) && isFields((value as Fields)[words.amount]);
  return fields({type: string, object: source, pods: source, resource: source, containerResource: source, external: source});
};

const shapeOf = (words: Words): Shape => {
  const share = {name: string, container: string, [words.averageUtilization]: integer, [words.averageValue]: quantity};
  const measured = {metricName: string, [words.value]: quantity, [words.averageValue]: quantity};
  return fields({
    type: string,
    [whole]: wholeShape(words),
    object: fields({...measured, target: reference, selector, averageValue: quantity}),
    pods: fields({...measured, selector}),
    resource: fields(share),
    containerResource: fields(share),
    external: fields({...measured, metricSelector: selector}),
  });
};

const shapes = {target: listOf(shapeOf(target)), current: listOf(shapeOf(current))};

/** What an annotation tells of metrics. Nothing when any of it has another shape. */
export const metricsIn = (words: Words, text: string | undefined): Fields[] | undefined => readShaped(text, shapes[words.amount]);
