import type {ApiResponse} from '#src/api/exchange.js';
import type {Counter, Histogram, Labels, Meter} from '#src/base/meter.js';
import type {InFlight} from './request/in-flight.js';
import {isLongRunning, type RequestInfo, type ResourceTarget} from './request/request-info.js';

const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Verbs and methods as labels spell them; whatever else a caller sends is `other`. */
const wireVerbs: ReadonlyMap<string, string> = new Map([
  ...['get', 'list', 'watch', 'patch', 'delete', 'deletecollection', 'post', 'put', 'head', 'options'].map((verb): [string, string] => [verb, verb.toUpperCase()]),
  ['update', 'PUT'],
  ['create', 'POST'],
]);

/** Where the requests of one kind are counted. */
interface Series {
  readonly labels: Labels;
  /** By status code. */
  readonly totals: Map<number, ReturnType<Counter['at']>>;
  readonly duration: ReturnType<Histogram['at']>;
}

const scopeOf = ({resource}: RequestInfo): string => {
  if (!resource) return '';
  if (resource.item) return 'resource';
  return resource.namespace ? 'namespace' : 'cluster';
};

/** Where figures are read from when somebody looks. */
export interface MetricSources {
  readonly inFlight: InFlight;
  watchers(): number;
  isServed(resource: ResourceTarget): boolean;
  /** How many objects there are of each resource, where the store can tell without waiting. */
  stored(): Iterable<readonly [Labels, number]>;
}

/** The figures of an API server, by the names monitoring knows them by. */
export class RequestMetrics {
  readonly #total: Counter;
  readonly #duration: Histogram;
  readonly #events: Counter;
  readonly #series = new Map<string, Series>();
  readonly #isServed: MetricSources['isServed'];

  /** `isServed` keeps names that callers made up out of the labels. */
  constructor(meter: Meter, {inFlight, watchers, isServed, stored}: MetricSources) {
    this.#isServed = isServed;
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
    });
    this.#events = meter.counter({
      name: 'apiserver_watch_events_total',
      help: 'Number of events sent in watch clients.',
      labels: ['group', 'version', 'resource'],
    });
    meter.observed(
      {name: 'apiserver_current_inflight_requests', help: 'Number of requests under way, by request kind.', labels: ['request_kind']},
      () => [
        [{request_kind: 'readOnly'}, inFlight.current.reading],
        [{request_kind: 'mutating'}, inFlight.current.mutating],
      ],
    );
    meter.observed({name: 'apiserver_storage_objects', help: 'Number of stored objects at the time of last check, by resource.', labels: ['resource']}, stored);
    meter.observed({name: 'apiserver_longrunning_requests', help: 'Number of active long-running requests.', labels: ['verb']}, () => [[{verb: 'WATCH'}, watchers()]]);
  }

  /** One finished request; `seconds` it took. */
  finished(info: RequestInfo | undefined, {status}: ApiResponse, seconds: number): void {
    if (!info) return;
    const series = this.#seriesOf(info);
    let total = series.totals.get(status);
    if (!total) series.totals.set(status, (total = this.#total.at({...series.labels, code: String(status)})));
    total.add();
    if (!isLongRunning(info)) series.duration.observe(seconds);
  }

  /** What counts an event sent to a watcher of a resource. */
  watchEvents(labels: Labels): () => void {
    const series = this.#events.at(labels);
    return () => series.add();
  }

  #seriesOf(info: RequestInfo): Series {
    const target = info.resource && this.#isServed(info.resource) ? info.resource : undefined;
    const {group = '', version = '', resource = '', subresource = ''} = target ?? {};
    const dryRun = info.query.has('dryRun') ? 'All' : '';
    const key = `${info.verb}/${dryRun}/${group}/${version}/${resource}/${subresource}/${scopeOf(info)}`;
    const known = this.#series.get(key);
    if (known) return known;
    const labels = {
      verb: wireVerbs.get(info.verb) ?? 'other',
      dry_run: dryRun,
      group,
      version,
      resource,
      subresource: target ? subresource : '',
      scope: scopeOf(info),
      component: 'apiserver',
    };
    const series = {labels, totals: new Map(), duration: this.#duration.at(labels)};
    // The key holds what callers made up too: the map must not grow without end.
    if (this.#series.size < 5000) this.#series.set(key, series);
    return series;
  }
}
