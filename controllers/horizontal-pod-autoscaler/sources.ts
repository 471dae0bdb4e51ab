import {resourceText} from '#controllers/shared/discovery.js';
import type {Scaled, Scales} from '#controllers/shared/scale.js';
import {messageOf} from '#controllers/shared/aggregate.js';
import {parseDuration} from '#src/api/duration.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {parseTime} from '#src/api/time.js';
import type {GroupToken} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {milliText} from './amounts.js';
import type {Sample, Samples} from './readings.js';

interface ContainerMetrics {
  readonly name: string;
  readonly usage?: Readonly<Record<string, string>>;
}
interface PodMetrics {
  readonly metadata?: {readonly name?: string; readonly namespace?: string};
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly ContainerMetrics[];
}

/** A value of the other two APIs of metrics; its window is spelled in two ways. */
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

/** The window of a value that gives none. */
const usualWindowMs = 60_000;

/** Versions of the API of metrics of objects, best first. */
const customVersions = ['v1beta2', 'v1beta1'];

/** Where figures come from: three APIs that servers beside the API server serve, any of which may be missing. All reject with why there are none. */
export interface MetricSources {
  /** What pods use of a resource: all containers of a pod together, or the one that is named. */
  resource(resource: string, namespace: string, selector: LabelSelector, container: string): Promise<Samples>;
  pods(metric: string, namespace: string, selector: LabelSelector, metricSelector: LabelSelector): Promise<Samples>;
  object(metric: string, namespace: string, described: Scaled, metricSelector: LabelSelector): Promise<bigint>;
  external(metric: string, namespace: string, metricSelector: LabelSelector): Promise<readonly bigint[]>;
}

const sampleOf = ({timestamp, window}: PodMetrics, value: bigint): Sample => ({value, timestamp: parseTime(timestamp) ?? 0, windowMs: parseDuration(window ?? '') ?? 0});

/** The sum over all containers; a pod one of whose containers was not measured has none. */
const ofPods = (items: readonly PodMetrics[], resource: string): Samples => {
  const samples = new Map<string, Sample>();
  for (const item of items) {
    const amounts = (item.containers ?? []).map(({usage}) => usage?.[resource]);
    if (amounts.length === 0 || amounts.includes(undefined)) continue;
    samples.set(item.metadata?.name ?? '', sampleOf(item, amounts.reduce((sum, amount) => sum + milliText(amount!), 0n)));
  }
  return samples;
};

const ofContainers = (items: readonly PodMetrics[], resource: string, only: string): Samples => {
  const samples = new Map<string, Sample>();
  for (const item of items) {
    const {name = '', namespace = ''} = item.metadata ?? {};
    const container = item.containers?.find(each => each.name === only);
    if (!container) throw new Error(`failed to get container metrics: container ${only} not present in metrics for pod ${namespace}/${name}`);
    const amount = container.usage?.[resource];
    if (amount !== undefined) samples.set(name, sampleOf(item, milliText(amount)));
  }
  return samples;
};

const query = (given: Readonly<Record<string, string>>): Record<string, string> => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));

/** Reads the APIs through `client`, which names the versions there are when it is asked which groups the server has. */
export const metricSources = (client: Client, scales: Scales, clock: Clock): MetricSources => {
  const {naming} = client;
  const items = async <T>(api: string, path: string, options: Readonly<Record<string, string>>): Promise<readonly T[]> => {
    using _ = clock.hold();
    const found = await client.request('GET', path, {query: query(options)}).catch((error: unknown) => {
      throw new Error(`unable to fetch metrics from ${api} metrics API: ${messageOf(error)}`, {cause: error});
    });
    return (found as List<T>).items ?? [];
  };
  const some = async <T>(api: string, path: string, options: Readonly<Record<string, string>>): Promise<readonly T[]> => {
    const found = await items<T>(api, path, options);
    if (found.length === 0) throw new Error(`no metrics returned from ${api} metrics API`);
    return found;
  };
  const root = (group: GroupToken, version: string, namespace: string) => `/apis/${naming.apiVersion(group, version)}/namespaces/${encodeURIComponent(namespace)}`;
  /** Where the metrics of objects in a namespace lie, in the best version there is. */
  const customRoot = async (namespace: string): Promise<string> => {
    using _ = clock.hold();
    const group = naming.group('custom.metrics');
    const {groups = []} = (await client.request('GET', '/apis')) as {readonly groups?: readonly {readonly name: string; readonly versions: readonly {readonly version: string}[]}[]};
    const served = groups.find(({name}) => name === group)?.versions.map(({version}) => version) ?? [];
    const version = customVersions.find(each => served.includes(each));
    if (!version) throw new Error(`unable to fetch metrics from custom metrics API: no custom metrics API (${group}) registered`);
    return root('custom.metrics', version, namespace);
  };
  const addressOf = async (described: Scaled): Promise<string> => {
    if (described.kind === 'Namespace' && !described.apiVersion.includes('/')) return 'metrics';
    const [found] = await scales.resourcesOf(described).catch((error: unknown) => {
      throw new Error(`unable to fetch metrics from custom metrics API: ${messageOf(error)}`, {cause: error});
    });
    return `${resourceText(found!)}/${encodeURIComponent(described.name)}`;
  };

  return {
    async resource(resource, namespace, selector, container) {
      const path = `${root('metrics', 'v1beta1', namespace)}/pods`;
      const found = await some<PodMetrics>('resource', path, {labelSelector: selector.toString()});
      return container ? ofContainers(found, resource, container) : ofPods(found, resource);
    },
    async pods(metric, namespace, selector, metricSelector) {
      const path = `${await customRoot(namespace)}/pods/*/${encodeURIComponent(metric)}`;
      const found = await some<MetricValue>('custom', path, {labelSelector: selector.toString(), metricLabelSelector: metricSelector.toString()});
      return new Map(
        found.map(({describedObject, timestamp, window, windowSeconds, value}) => {
          const seconds = windowSeconds ?? window;
          return [describedObject?.name ?? '', {value: milliText(value), timestamp: parseTime(timestamp) ?? 0, windowMs: seconds === undefined ? usualWindowMs : seconds * 1000}];
        }),
      );
    },
    async object(metric, namespace, described, metricSelector) {
      const path = `${await customRoot(namespace)}/${await addressOf(described)}/${encodeURIComponent(metric)}`;
      const found = await items<MetricValue>('custom', path, {metricLabelSelector: metricSelector.toString()});
      if (found.length !== 1) throw new Error(`unable to fetch metrics from custom metrics API: the custom metrics API server returned ${found.length} results when we asked for exactly one`);
      return milliText(found[0]!.value);
    },
    async external(metric, namespace, metricSelector) {
      const path = `${root('external.metrics', 'v1beta1', namespace)}/${encodeURIComponent(metric)}`;
      return (await some<MetricValue>('external', path, {labelSelector: metricSelector.toString()})).map(({value}) => milliText(value));
    },
  };
};
