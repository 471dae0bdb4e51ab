import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {andThen} from '#src/base/eventually.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import type {RequestMetrics} from '#src/apiserver/request/metrics.js';
import {TooManyRequests} from '#src/apiserver/request/plain-refusal.js';
import type {RequestInfo, ResourceTarget} from '#src/apiserver/request/request-info.js';
import {DeadlineExceeded} from '#src/apiserver/request/timeout.js';
import type {Answer, Filter} from './filter.js';
import type {Received} from './stages.js';

export interface MeasuredRequests {
  readonly requests: RequestMetrics;
  readonly bodySizes: BodySizes;
}

/** Counts and times requests, and those that the server ended to protect itself. */
export const withMetrics =
  ({requests, bodySizes}: MeasuredRequests, clock: Clock): Filter<Received, Received, ApiResponse, Answer> =>
  next =>
  received =>
    andThen(next(received), ({response, error}) => {
      const {request, info, times} = received;
      bodySizes.record(request, info, response);
      const isRejected = error instanceof TooManyRequests;
      if (isRejected || error instanceof DeadlineExceeded) requests.terminated(info, response.status);
      if (isRejected) return requests.rejected(request, info, response);
      return requests.finished(request, info, response, (clock.monotonic() - times.startedAt) / 1000, times);
    });

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
  readonly #served: {isServed(resource: ResourceTarget): boolean};

  constructor(meter: Meter, served: {isServed(resource: ResourceTarget): boolean}) {
    this.#served = served;
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
      if (!this.#served.isServed(resource)) return;
      series = this.#sizes.at({group: resource.group, resource: resource.resource, verb});
      this.#series.set(key, series);
    }
    series.observe(size);
  }
}
