// Measures the requests to an agent, with labels of a bounded number of values.

import type {ApiHandler, ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {Counter, Gauge, Histogram} from '#src/base/meter.js';

export interface RequestMetrics {
  readonly httpRequests: Counter;
  readonly inflightRequests: Gauge;
  readonly requestDuration: Histogram;
}

const methods: ReadonlySet<string> = new Set(['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT']);
const paths: ReadonlySet<string> = new Set(
  'healthz pods stats metrics metrics/cadvisor metrics/probes metrics/resource run exec attach portForward containerLogs configz runningpods checkpoint logs debug statusz flagz'.split(
    ' ',
  ),
);
/** The original does not count port forwarding. */
const longRunning: ReadonlySet<string> = new Set(['exec', 'attach', 'debug']);

const pathOf = ({url}: ApiRequest): string => {
  const [first = '', second] = url.slice(1, 64).split(/[?]/, 1)[0]!.split('/', 2);
  const path = first === 'metrics' && second ? `${first}/${second}` : first;
  return paths.has(path) ? path : 'other';
};

/** Returns a handler whose requests are counted until their responses are over. */
export const measured =
  (handler: ApiHandler, metrics: RequestMetrics, clock: Clock, serverType: 'readwrite' | 'readonly'): ApiHandler =>
  async request => {
    const path = pathOf(request);
    const labels = {
      method: methods.has(request.method) ? request.method : 'other',
      path,
      server_type: serverType,
      long_running: String(longRunning.has(path)),
    };
    const since = clock.monotonic();
    metrics.httpRequests.add(labels);
    metrics.inflightRequests.add(labels, 1);
    return onceOver(await handler(request), () => {
      metrics.inflightRequests.add(labels, -1);
      metrics.requestDuration.observe((clock.monotonic() - since) / 1000, labels);
    });
  };

/** Calls `over` once, when a response has been sent or its connection is closed. */
const onceOver = (response: ApiResponse, over: () => void): ApiResponse => {
  const {body} = response;
  if (body.kind === 'stream') body.source.once('close', over);
  else if (body.kind === 'upgrade')
    return {
      ...response,
      body: {
        kind: 'upgrade',
        take(socket, head, keeps) {
          socket.once('close', over);
          return body.take(socket, head, keeps);
        },
        drop() {
          over();
          body.drop();
        },
      },
    };
  else over();
  return response;
};
