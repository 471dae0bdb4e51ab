import type {KubeObject} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {notFound} from '#src/api/status.js';
import {webhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import {conversions} from '#src/apiserver/custom/conversion.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {aDefinition, aVersion, startCustom, widgets, type VersionSketch} from './custom.js';
import {json, startWebhook, type TestWebhook} from './webhook-server.js';
import {words} from './wire.js';

/** A custom object as these tests use it. */
export type Widget = KubeObject & {spec?: Record<string, unknown>; host?: string; port?: string; hostPort?: string};

/** A conversion request as the webhook received it. */
export interface ConversionRequest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly request: {readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Widget[]};
}

/** Converts one object; an error it throws is the message of the failure. */
export type Convert = (object: Widget, apiVersion: string) => unknown;

/** The conversion of the official suite: v1 has `hostPort`, v2 `host` and `port`. */
export const hostPort: Convert = (object, apiVersion) => {
  const {hostPort: joined, host, port, ...rest} = structuredClone(object);
  if (apiVersion.endsWith('/v1')) return {...rest, apiVersion, ...(host === undefined ? {} : {hostPort: `${host}:${port}`})};
  const [first, second] = (joined ?? '').split(':');
  return {...rest, apiVersion, ...(joined === undefined ? {} : {host: first, port: second})};
};

/** A webhook of one test, at a path of its own. */
export interface Converter {
  readonly path: string;
  readonly requested: ConversionRequest[];
  convert: Convert;
  /** Answers instead of `convert`. */
  answer: ((requested: ConversionRequest) => unknown) | undefined;
  /** Holds answers back while it is set. */
  held: Promise<void> | undefined;
}

/** Webhooks that convert, all behind one server. */
export const startConverters = async () => {
  const converters = new Map<string, Converter>();
  const webhook: TestWebhook = await startWebhook(async ({url, body}, response) => {
    const converter = converters.get(url.split('?')[0]!)!;
    const requested = JSON.parse(body) as ConversionRequest;
    converter.requested.push(requested);
    await converter.held;
    json(response, converter.answer?.(requested) ?? reviewOf(requested, converter.convert));
  });
  return {
    webhook,
    converter(convert: Convert = hostPort): Converter {
      const converter: Converter = {path: `/${converters.size}`, requested: [], convert, answer: undefined, held: undefined};
      converters.set(converter.path, converter);
      return converter;
    },
    /** The conversion of a definition by webhook. */
    asking: ({path}: Converter, reviewVersions: readonly string[] = ['v1', 'v1beta1']) => ({
      strategy: 'Webhook',
      webhook: {clientConfig: {url: `${webhook.url}${path}`, caBundle: webhook.caBundle}, conversionReviewVersions: reviewVersions},
    }),
  };
};

/** The answer to a question. */
export const reviewOf = ({kind, apiVersion, request}: ConversionRequest, convert: Convert, more: object = {}) => {
  const {uid, objects, desiredAPIVersion} = request;
  return {
    kind,
    apiVersion,
    response: {uid, result: {status: 'Success'}, convertedObjects: objects.map(object => convert(object, desiredAPIVersion)), ...more},
  };
};

const text = {type: 'string'};
const integers = {type: 'integer'};
export const oldForm: VersionSketch = {
  name: 'v1',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {hostPort: text, spec: {type: 'object', properties: {size: integers, replicas: integers}}},
    },
  },
};
export const newForm: VersionSketch = {
  name: 'v2',
  schema: {
    openAPIV3Schema: {
      type: 'object',
      properties: {host: text, port: text, spec: {type: 'object', properties: {size: integers, replicas: integers}}},
    },
  },
};

/** Widgets in two versions. */
export const twoVersions = (conversion: object | undefined, stored: 'v1' | 'v2' = 'v1', more: {readonly [version: string]: object} = {}) =>
  aDefinition(
    [oldForm, newForm].map(form => aVersion({...form, storage: form.name === stored, ...more[form.name!]})),
    conversion ? {conversion} : {},
  );

export const second = widgets.replace('/v1/', '/v2/');
export const first = (name: string, hostPortText: string, more: object = {}) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: {name},
  hostPort: hostPortText,
  ...more,
});
export const later = (name: string, host: string, port: string, more: object = {}) => ({
  apiVersion: 'example.com/v2',
  kind: 'Widget',
  metadata: {name},
  host,
  port,
  ...more,
});

/** A server that calls webhooks to convert custom objects. */
export const startConverting = async (options: Parameters<typeof startCustom>[0] = {}) => {
  const clock = new VirtualClock();
  const metrics = new MetricsRegistry();
  const caller = webhookCaller({
    clock,
    resolve: () => Promise.reject(notFound({group: '', resource: 'services'}, 'svc')),
    userAgent: 'tester',
  });
  const parts = {naming: words, clock, random: seededRandom(3), caller, metrics: conversionMetrics(metrics, clock)};
  const env = await startCustom({clock, conversion: conversions(definition => webhookConversion(definition, parts)), ...options});
  return {
    ...env,
    caller,
    /** Waits for data of a real connection, which is outside virtual time. */
    async eventually(holds: () => boolean): Promise<void> {
      for (let turns = 0; !holds(); turns++) {
        if (turns > 2_000) throw new Error('it never came to that');
        await new Promise(resolve => {
          setImmediate(resolve);
        });
      }
    },
    async metricLines(name: string): Promise<string[]> {
      const {body} = await metrics.exposition();
      return body.split('\n').filter(line => line.startsWith(name));
    },
    [Symbol.dispose]() {
      env[Symbol.dispose]();
      caller.close();
    },
  };
};
