// The request metrics of the API server, with upstream's names and labels. A series is looked up by a key made of the
// labels; keys with values that clients chose are not cached without bound, and names that are not served become no
// labels.

import {header, type ApiRequest, type ApiResponse, type PagedBody} from '#src/api/request.js';
import {wellKnown} from '#src/api/user.js';
import {exponentialBuckets, type Counter, type Histogram, type Labels, type Meter} from '#src/base/meter.js';
import type {RequestTimes} from './context.js';
import {isLongRunning, type RequestInfo, type ResourceTarget} from './request-info.js';

const durationBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60];
const sliBuckets = durationBuckets.filter(bound => bound >= 0.05);
const sizeBuckets = exponentialBuckets(1000, 10, 7);

/** Verbs and methods that are used as label values; all others are `other`. */
const wireVerbs: ReadonlyMap<string, string> = new Map([
  ...['get', 'list', 'watch', 'patch', 'delete', 'deletecollection', 'post', 'put', 'head', 'options'].map((verb): [string, string] => [
    verb,
    verb.toUpperCase(),
  ]),
  ['update', 'PUT'],
  ['create', 'POST'],
]);

/** Subresources that relay a connection, whatever the method. */
const connecting = new Set(['log', 'exec', 'portforward', 'attach', 'proxy']);
const applyPatch = 'application/apply-patch+yaml';

/** The series that requests with the same labels are counted in. */
interface Series {
  readonly labels: Labels;
  /** By status code. */
  readonly totals: Map<number, ReturnType<Counter['at']>>;
  readonly duration: ReturnType<Histogram['at']>;
  readonly sli: ReturnType<Histogram['at']>;
  readonly slo: ReturnType<Histogram['at']>;
  readonly size: ReturnType<Histogram['at']>;
  /** The requests of the server itself. */
  own?: ReturnType<Counter['at']>;
}

const scopeOf = ({resource, verb}: RequestInfo): string => {
  if (!resource) return '';
  if (resource.item || verb === 'create') return 'resource';
  return resource.namespace ? 'namespace' : 'cluster';
};

const verbOf = (info: RequestInfo, isApply: boolean): string => {
  if (info.resource && connecting.has(info.resource.subresource)) return 'CONNECT';
  return isApply ? 'APPLY' : (wireVerbs.get(info.verb) ?? 'other');
};

const dryRunOf = ({query}: RequestInfo): string => {
  if (query.size === 0) return '';
  const values = query.getAll('dryRun');
  if (values.length === 0) return '';
  return values.every(value => value === 'All') ? 'All' : 'invalid';
};

const noTarget = {group: '', version: '', resource: '', subresource: ''};
const targetLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'];

const sliHelp =
  'Response latency distribution (not counting webhook duration and priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.';
const objectsHelp = 'Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.';

/** The labels of a request that all metrics have. */
const labelsOf = (
  info: RequestInfo,
  isApply = false,
  {group, version, resource, subresource}: Pick<ResourceTarget, keyof typeof noTarget> = info.resource ?? noTarget,
): Labels => ({
  verb: verbOf(info, isApply),
  group,
  version,
  resource,
  subresource,
  scope: scopeOf(info),
  component: 'apiserver',
});

/** The labels of a long-running request. */
export const longRunningLabels = (info: RequestInfo): Labels => labelsOf(info);

/** The sources of gauges, read when metrics are collected. */
export interface MetricSources {
  /** The labels of each long-running request. */
  longRunning(): Iterable<Labels>;
  /** What is served: names made up by clients are kept out of the labels. */
  readonly served: {isServed(resource: ResourceTarget): boolean};
  /** The number of objects of each resource, where the store can count without waiting. */
  stored(): Iterable<readonly [Labels, number]>;
}

/** The request metrics of an API server, with upstream's names. */
export class RequestMetrics {
  readonly #total: Counter;
  readonly #duration: Histogram;
  readonly #sli: Histogram;
  readonly #slo: Histogram;
  readonly #sizes: Histogram;
  readonly #terminations: Counter;
  readonly #events: Counter;
  readonly #selfRequests: Counter;
  readonly #series = new Map<string, Series>();
  readonly #served: MetricSources['served'];

  constructor(meter: Meter, {longRunning, served, stored}: MetricSources) {
    this.#served = served;
    this.#total = meter.counter({
      name: 'apiserver_request_total',
      help: 'Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.',
      labels: ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component', 'code'],
    });
    this.#duration = meter.histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.',
      labels: ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'],
      buckets: durationBuckets,
      hidesIdle: true,
    });
    this.#sli = meter.histogram({
      name: 'apiserver_request_sli_duration_seconds',
      help: sliHelp,
      labels: targetLabels,
      buckets: sliBuckets,
      hidesIdle: true,
    });
    this.#slo = meter.histogram({
      name: 'apiserver_request_slo_duration_seconds',
      help: sliHelp,
      labels: targetLabels,
      buckets: sliBuckets,
      hidesIdle: true,
      deprecatedSince: '1.27.0',
    });
    this.#sizes = meter.histogram({
      name: 'apiserver_response_sizes',
      help: 'Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.',
      labels: targetLabels,
      buckets: sizeBuckets,
      hidesIdle: true,
    });
    this.#terminations = meter.counter({
      name: 'apiserver_request_terminations_total',
      help: 'Number of requests which apiserver terminated in self-defense.',
      labels: [...targetLabels, 'code'],
    });
    this.#selfRequests = meter.counter({
      name: 'apiserver_selfrequest_total',
      help: 'Counter of apiserver self-requests broken out for each verb, API resource and subresource.',
      labels: ['verb', 'group', 'resource', 'subresource'],
    });
    this.#events = meter.counter({
      name: 'apiserver_watch_events_total',
      help: 'Number of events sent in watch clients.',
      labels: ['group', 'version', 'resource'],
    });
    observeSources(meter, {longRunning, stored});
  }

  /** Records a finished request. Returns the response, which records its size when its bytes are taken. */
  finished(
    request: ApiRequest,
    info: RequestInfo | undefined,
    response: ApiResponse,
    seconds: number,
    {webhooksMs, queueWaitMs = 0}: RequestTimes,
  ): ApiResponse {
    if (!info) return response;
    const series = this.#counted(request, info, response);
    if (isLongRunning(info)) return response;
    series.duration.observe(seconds);
    if (series.labels['dry_run'] === '') {
      const own = Math.max(0, seconds - (webhooksMs + queueWaitMs) / 1000);
      series.sli.observe(own);
      series.slo.observe(own);
    }
    const isRead = info.resource !== undefined && (info.verb === 'get' || info.verb === 'list');
    return isRead && !request.inProcess ? sized(response, series.size) : response;
  }

  /** Counts a request that was rejected above the limits: its duration says nothing of those that are served. */
  rejected(request: ApiRequest, info: RequestInfo, response: ApiResponse): ApiResponse {
    this.#counted(request, info, response);
    return response;
  }

  /** Counts a request that the server has ended to protect itself. */
  terminated(info: RequestInfo, status: number): void {
    const target = info.resource && this.#served.isServed(info.resource) ? info.resource : noTarget;
    this.#terminations.add({...labelsOf(info, false, target), code: String(status)});
  }

  #counted(request: ApiRequest, info: RequestInfo, {status}: ApiResponse): Series {
    const series = this.#seriesOf(info, info.verb === 'patch' && header(request, 'content-type') === applyPatch);
    let total = series.totals.get(status);
    if (!total) series.totals.set(status, (total = this.#total.at({...series.labels, code: String(status)})));
    total.add();
    if ('user' in request.caller && request.caller.user.name === wellKnown.server) (series.own ??= this.#ownSeries(series)).add();
    return series;
  }

  #ownSeries({labels: {verb = '', group = '', resource = '', subresource = ''}}: Series): ReturnType<Counter['at']> {
    return this.#selfRequests.at({verb, group, resource, subresource});
  }

  /** Returns a function that counts an event sent to a watcher of a resource. */
  watchEvents(labels: Labels): () => void {
    const series = this.#events.at(labels);
    return () => series.add();
  }

  #seriesOf(info: RequestInfo, isApply: boolean): Series {
    const target = info.resource && this.#served.isServed(info.resource) ? info.resource : noTarget;
    const {group, version, resource, subresource} = target;
    const dryRun = dryRunOf(info);
    const key = `${isApply ? 'apply' : info.verb}/${dryRun}/${group}/${version}/${resource}/${subresource}/${scopeOf(info)}`;
    const known = this.#series.get(key);
    if (known) return known;
    const labels = {...labelsOf(info, isApply, target), dry_run: dryRun};
    const series: Series = {
      labels,
      totals: new Map(),
      duration: this.#duration.at(labels),
      sli: this.#sli.at(labels),
      slo: this.#slo.at(labels),
      size: this.#sizes.at(labels),
    };
    // The key contains values chosen by clients: the map must not grow without bound.
    if (this.#series.size < 5000) this.#series.set(key, series);
    return series;
  }
}

/** The gauges that are read when metrics are collected. */
const observeSources = (meter: Meter, {longRunning, stored}: Pick<MetricSources, 'longRunning' | 'stored'>): void => {
  meter.observed(
    {
      name: 'apiserver_storage_objects',
      help: `[DEPRECATED, consider using apiserver_resource_objects instead] ${objectsHelp}`,
      labels: ['resource'],
      deprecatedSince: '1.34.0',
    },
    stored,
  );
  meter.observed({name: 'apiserver_resource_objects', help: objectsHelp, labels: ['group', 'resource']}, () =>
    Array.from(stored(), ([{resource = ''}, count]) => {
      const [name = '', ...group] = resource.split('.');
      return [{group: group.join('.'), resource: name}, count];
    }),
  );
  meter.observed(
    {
      name: 'apiserver_longrunning_requests',
      help: 'Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component.',
      labels: targetLabels,
    },
    () => counted(longRunning()),
  );
};

/** A response whose size is observed: at once if its bytes exist, otherwise when they are taken. */
const sized = (response: ApiResponse, size: Series['size']): ApiResponse => {
  const {body} = response;
  if (body.kind === 'bytes') size.observe(Buffer.byteLength(body.bytes));
  if (body.kind === 'pages') return {...response, body: sizedPages(body, size)};
  if (body.kind !== 'object') return response;
  const bytes = (): Buffer => {
    const made = body.bytes();
    size.observe(made.length);
    return made;
  };
  return {...response, body: {kind: 'object', contentType: body.contentType, object: () => body.object(), bytes}};
};

/** A paged body whose size is observed at the end of the reading. */
const sizedPages = (body: PagedBody, size: Series['size']): PagedBody => {
  let sent = 0;
  let isOver = false;
  const end = (): void => {
    if (!isOver && sent > 0) size.observe(sent);
    isOver = true;
  };
  return {
    kind: 'pages',
    contentType: body.contentType,
    async next() {
      const page = await body.next();
      if (page === undefined) end();
      else sent += page.length;
      return page;
    },
    ...(body.reuse ? {reuse: (page: Buffer) => body.reuse!(page)} : {}),
    object: () => body.object(),
    close() {
      end();
      body.close();
    },
  };
};

const counted = (requests: Iterable<Labels>): Iterable<readonly [Labels, number]> => {
  const counts = new Map<string, readonly [Labels, number]>();
  for (const labels of requests) {
    const key = JSON.stringify(labels);
    counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
  }
  return counts.values();
};
