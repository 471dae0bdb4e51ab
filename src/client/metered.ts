import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {Call, Caller, Reply} from './caller.js';
import {latencyBuckets} from './limits.js';

/** Returns a caller with the metrics of client-go. */
export const metered = (
  caller: Caller,
  {clock, meter, host}: {readonly clock: Clock; readonly meter: Meter; readonly host: string},
): Caller => {
  const requests = meter.counter({
    name: 'rest_client_requests_total',
    help: 'Number of HTTP requests, partitioned by status code, method, and host.',
    labels: ['code', 'method', 'host'],
  });
  const latency = meter.histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'Request latency in seconds. Broken down by verb, and host.',
    labels: ['verb', 'host'],
    buckets: latencyBuckets,
  });
  const timed = async <R extends Reply | undefined>(call: Call, run: () => Promise<R>): Promise<R> => {
    const start = clock.monotonic();
    let code = '<error>';
    try {
      const reply = await run();
      code = String(reply?.status ?? 200);
      return reply;
    } finally {
      requests.add({code, method: call.method, host});
      latency.observe((clock.monotonic() - start) / 1000, {verb: call.method, host});
    }
  };
  return {
    ...caller,
    call: call => timed(call, () => caller.call(call)),
    watch: (call, listener) => timed(call, () => caller.watch(call, listener)),
  };
};
