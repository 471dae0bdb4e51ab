import {resourceText} from '#controllers/shared/discovery.js';
import type {Scaled, Scales} from '#controllers/shared/scale.js';
import {parseDuration} from '#src/api/duration.js';
import {kind} from '#src/api/kind.js';
import {kinds} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {parseTime} from '#src/api/time.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import type {PodMetrics} from '#src/api/kinds/metrics.js';
import {messageOf} from '#src/base/message.js';
import {milliText} from './amounts.js';
import type {Sample, Samples} from './samples.js';

/** A value of the custom or external metrics API; the window has two spellings. */
interface MetricValue {
  readonly describedObject?: {readonly name?: string};
  readonly timestamp?: string;
  readonly window?: number;
  readonly windowSeconds?: number;
  readonly value: string;
}
interface List<T> {
  readonly items?: readonly T[];
}

/** The default window of a value. */
const defaultWindowMs = 60_000;

/** Versions of the custom metrics API, in order of preference. */
const customVersions = ['v1beta2', 'v1beta1'];

/**
 * Reads the three metrics APIs, which aggregated servers provide; any may be missing. All methods reject with the
 * reason.
 */
export interface MetricSources {
  /** Returns pods' usage of a resource: of all containers together, or of the named one. */
  resource(resource: string, namespace: string, selector: LabelSelector, container: string): Promise<Samples>;
  pods(metric: string, namespace: string, selector: LabelSelector, metricSelector: LabelSelector): Promise<Samples>;
  object(metric: string, namespace: string, described: Scaled, metricSelector: LabelSelector): Promise<bigint>;
  external(metric: string, namespace: string, metricSelector: LabelSelector): Promise<readonly bigint[]>;
}

const sampleOf = ({timestamp, window}: PodMetrics, value: bigint): Sample => ({
  value,
  timestamp: parseTime(timestamp) ?? 0,
  windowMs: parseDuration(window ?? '') ?? 0,
});

/** Sums over all containers; a pod with an unmeasured container has no sample. */
const ofPods = (items: readonly PodMetrics[], resource: string): Samples => {
  const samples = new Map<string, Sample>();
  for (const item of items) {
    const amounts = (item.containers ?? []).map(({usage}) => usage?.[resource]);
    if (amounts.length === 0 || amounts.includes(undefined)) continue;
    samples.set(
      item.metadata?.name ?? '',
      sampleOf(
        item,
        amounts.reduce((sum, amount) => sum + milliText(amount!), 0n),
      ),
    );
  }
  return samples;
};

/** Returns the usage of one container of each pod; a pod without metrics of the container has no sample. */
const ofContainers = (items: readonly PodMetrics[], resource: string, only: string): Samples => {
  const samples = new Map<string, Sample>();
  for (const item of items) {
    const amount = item.containers?.find(({name}) => name === only)?.usage?.[resource];
    if (amount !== undefined) samples.set(item.metadata?.name ?? '', sampleOf(item, milliText(amount)));
  }
  return samples;
};

/** Each external metric is a resource. */
const externalMetric = (metric: string) => kind('external.metrics', 'v1beta1', 'ExternalMetricValue', encodeURIComponent(metric), true);

const query = (given: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));

const unavailable = (api: string, error: unknown): Error =>
  new Error(`unable to fetch metrics from ${api} metrics API: ${messageOf(error)}`, {cause: error});

const itemsOf = async <T>(clock: Clock, api: string, call: Promise<unknown>): Promise<readonly T[]> => {
  using _ = clock.hold();
  const found = await call.catch((error: unknown) => {
    throw unavailable(api, error);
  });
  return (found as List<T>).items ?? [];
};

/** Rejects if there are no items. */
const someOf = async <T>(clock: Clock, api: string, call: Promise<unknown>): Promise<readonly T[]> => {
  const found = await itemsOf<T>(clock, api, call);
  if (found.length === 0) throw new Error(`no metrics returned from ${api} metrics API`);
  return found;
};

/** Returns the path of custom metrics in a namespace, in the preferred version that the server lists in its groups. */
const customRoot = async (client: Client, clock: Clock, namespace: string): Promise<string> => {
  using _ = clock.hold();
  const group = client.naming.group('custom.metrics');
  const {groups = []} = (await client.request('GET', '/apis')) as {
    readonly groups?: readonly {readonly name: string; readonly versions: readonly {readonly version: string}[]}[];
  };
  const served = groups.find(({name}) => name === group)?.versions.map(({version}) => version);
  const version = customVersions.find(each => served?.includes(each));
  const lacking = served ? 'no known available metric versions found' : `no custom metrics API (${group}) registered`;
  if (!version) throw new Error(`unable to fetch metrics from custom metrics API: ${lacking}`);
  return `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}`;
};

/** Returns the path of an object below that of custom metrics. */
const objectPath = async (scales: Scales, described: Scaled): Promise<string> => {
  if (described.kind === 'Namespace' && !described.apiVersion.includes('/')) return 'metrics';
  const [found] = await scales.resourcesOf(described).catch((error: unknown) => {
    throw unavailable('custom', error);
  });
  return `${resourceText(found!)}/${encodeURIComponent(described.name)}`;
};

const customSample = ({timestamp, window, windowSeconds, value}: MetricValue): Sample => {
  const seconds = windowSeconds ?? window;
  return {
    value: milliText(value),
    timestamp: parseTime(timestamp) ?? 0,
    windowMs: seconds === undefined ? defaultWindowMs : seconds * 1000,
  };
};

const onlyValue = (found: readonly MetricValue[]): bigint => {
  if (found.length !== 1)
    throw new Error(
      `unable to fetch metrics from custom metrics API: the custom metrics API server returned ${found.length} results when we asked for exactly one`,
    );
  return milliText(found[0]!.value);
};

/** Reads the metrics APIs through `client`. */
export const metricSources = (client: Client, scales: Scales, clock: Clock): MetricSources => ({
  async resource(resource, namespace, selector, container) {
    const call = client.resource(kinds.podMetrics).list({namespace, labelSelector: selector.toString()});
    const found = await someOf<PodMetrics>(clock, 'resource', call);
    return container ? ofContainers(found, resource, container) : ofPods(found, resource);
  },
  async pods(metric, namespace, selector, metricSelector) {
    const path = `${await customRoot(client, clock, namespace)}/pods/*/${encodeURIComponent(metric)}`;
    const selectors = {labelSelector: selector.toString(), metricLabelSelector: metricSelector.toString()};
    const found = await someOf<MetricValue>(clock, 'custom', client.request('GET', path, {query: query(selectors)}));
    return new Map(found.map(value => [value.describedObject?.name ?? '', customSample(value)]));
  },
  async object(metric, namespace, described, metricSelector) {
    const root = await customRoot(client, clock, namespace);
    const path = `${root}/${await objectPath(scales, described)}/${encodeURIComponent(metric)}`;
    const selectors = {metricLabelSelector: metricSelector.toString()};
    return onlyValue(await itemsOf<MetricValue>(clock, 'custom', client.request('GET', path, {query: query(selectors)})));
  },
  async external(metric, namespace, metricSelector) {
    const call = client.resource(externalMetric(metric)).list({namespace, labelSelector: metricSelector.toString()});
    return (await someOf<MetricValue>(clock, 'external', call)).map(({value}) => milliText(value));
  },
});
