// Reads the metrics again and again while the overview is shown, and keeps what its plots need.

import {useEffect, useState} from 'preact/hooks';
import {messageOf} from '#src/base/message.js';
import {respond} from '#page/api/call.js';
import {controllerMetrics, controllersOf, type ControllerState} from '#src/observe/controller-states.js';
import {parseMetrics, quantile, total, type Metrics} from '#src/observe/metrics-text.js';
import {requestCounts, requestMetrics, requestRates, type RequestCounts} from '#src/observe/request-rates.js';

export interface Sampling {
  readonly error?: string;
  readonly controllers: readonly ControllerState[];
  /** Times in seconds; reads, writes and refusals a second. */
  readonly rates: [number[], number[], number[], number[]];
  readonly latencyMost: number;
  readonly inflight: number;
  readonly memory: number;
  readonly loopLag: number;
  readonly watches: number;
  readonly objects: number;
}

const wanted = new Set([
  ...controllerMetrics,
  ...requestMetrics,
  'apiserver_resource_objects',
  'apiserver_storage_objects',
  'process_resident_memory_bytes',
  'nodejs_eventloop_lag_p99_seconds',
]);

const everyMs = 2000;
/** Five minutes. */
const mostPoints = 150;
const added = (
  past: Sampling | undefined,
  counts: RequestCounts,
  before: RequestCounts | undefined,
  metrics: Metrics,
  time: number,
): Sampling => {
  const rates: Sampling['rates'] = past ? (past.rates.map(row => row.slice(-mostPoints)) as Sampling['rates']) : [[], [], [], []];
  if (before) {
    const {reads, writes, refused} = requestRates(counts, before);
    rates[0].push(time);
    rates[1].push(reads);
    rates[2].push(writes);
    rates[3].push(refused);
  }
  return {
    controllers: controllersOf(metrics),
    rates,
    latencyMost: quantile(0.99, counts.latencies, before?.latencies),
    inflight: counts.inflight,
    memory: total(metrics, 'process_resident_memory_bytes'),
    loopLag: total(metrics, 'nodejs_eventloop_lag_p99_seconds'),
    watches: counts.watches,
    objects: total(metrics, 'apiserver_resource_objects') || total(metrics, 'apiserver_storage_objects'),
  };
};

export const useSampling = (): Sampling | undefined => {
  const [sampling, setSampling] = useState<Sampling>();
  useEffect(() => {
    const closed = new AbortController();
    let [past, before]: [Sampling | undefined, RequestCounts | undefined] = [undefined, undefined];
    const read = async (): Promise<void> => {
      // Before the server counts this request: the answer may take its time.
      const [time, at] = [Date.now() / 1000, performance.now()];
      try {
        const text = await (await respond('/metrics', {accept: 'text/plain', signal: closed.signal})).text();
        const metrics = parseMetrics(text, wanted);
        const counts = requestCounts(metrics, at);
        setSampling((past = added(past, counts, before, metrics, time)));
        before = counts;
      } catch (error) {
        if (closed.signal.aborted) return;
        setSampling(known => ({
          ...(known ?? added(undefined, requestCounts(new Map(), at), undefined, new Map(), time)),
          error: messageOf(error),
        }));
      }
    };
    void read();
    // A page that nobody sees asks for nothing.
    const timer = setInterval(() => document.hidden || void read(), everyMs);
    return () => {
      clearInterval(timer);
      closed.abort();
    };
  }, []);
  return sampling;
};
