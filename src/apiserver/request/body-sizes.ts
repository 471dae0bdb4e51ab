import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import type {RequestInfo, ResourceTarget} from './request-info.js';

/** The label values of verbs whose requests have a body. */
const verbs: ReadonlyMap<string, string> = new Map([
  ['create', 'create'],
  ['update', 'update'],
  ['patch', 'patch'],
  ['delete', 'delete'],
  ['deletecollection', 'delete_collection'],
]);

const buckets = Array.from({length: 31}, (_, index) => 50_000 + index * 100_000);

/**
 * The sizes of the bodies of requests for resources that this server serves: of those that were read whole, and of
 * deletions without a body.
 */
export class BodySizes {
  readonly #sizes: Histogram;
  readonly #series = new Map<string, ReturnType<Histogram['at']>>();
  readonly #isServed: (resource: ResourceTarget) => boolean;

  constructor(meter: Meter, isServed: (resource: ResourceTarget) => boolean) {
    this.#isServed = isServed;
    this.#sizes = meter.histogram({
      name: 'apiserver_request_body_size_bytes',
      help: 'Apiserver request body size in bytes broken out by resource and verb.',
      labels: ['group', 'resource', 'verb'],
      buckets,
    });
  }

  /** Records the body of a request that has been answered. */
  record({body, inProcess}: ApiRequest, {verb: requested, resource}: RequestInfo, {status}: ApiResponse): void {
    const verb = verbs.get(requested);
    if (!verb || !resource || inProcess) return;
    const withoutBody = requested.startsWith('delete') && status < 400 ? 0 : undefined;
    const size = body ? (body.kind === 'bytes' ? body.size : undefined) : withoutBody;
    if (size === undefined) return;
    const key = `${verb}/${resource.resource}.${resource.group}`;
    let series = this.#series.get(key);
    if (!series) {
      if (!this.#isServed(resource)) return;
      series = this.#sizes.at({group: resource.group, resource: resource.resource, verb});
      this.#series.set(key, series);
    }
    series.observe(size);
  }
}
