// Reads the metrics again and again while the overview is shown, and keeps what its plots need.

import {useEffect, useState} from 'preact/hooks';
import {messageOf, respond} from '#page/api/call.js';
import {controllerMetrics, controllersOf, type ControllerState} from './controllers.js';
import {parseMetrics, quantile, total, type Metrics, type Sample} from './metrics.js';

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
  'apiserver_request_total',
  'apiserver_request_sli_duration_seconds_bucket',
  'apiserver_current_inflight_requests',
  'apiserver_longrunning_requests',
  'apiserver_resource_objects',
  'apiserver_storage_objects',
  'process_resident_memory_bytes',
  'nodejs_eventloop_lag_p99_seconds',
]);

const everyMs = 2000;
/** Five minutes. */
const mostPoints = 150;
const reads = new Set(['GET', 'LIST', 'WATCH']);

interface Counts {
  readonly at: number;
  readonly reads: number;
  readonly writes: number;
  readonly refused: number;
  readonly latencies: readonly Sample[];
}

const countsOf = (metrics: Metrics): Counts => ({
  at: performance.now(),
  reads: total(metrics, 'apiserver_request_total', ({verb = ''}) => reads.has(verb)),
  writes: total(metrics, 'apiserver_request_total', ({verb = ''}) => !reads.has(verb)),
  refused: total(metrics, 'apiserver_request_total', ({code = ''}) => code >= '400'),
  latencies: (metrics.get('apiserver_request_sli_duration_seconds_bucket') ?? []).filter(({labels}) => labels['verb'] !== 'WATCH'),
});

const added = (past: Sampling | undefined, counts: Counts, before: Counts | undefined, metrics: Metrics): Sampling => {
  const rates: Sampling['rates'] = past ? (past.rates.map(row => row.slice(-mostPoints)) as Sampling['rates']) : [[], [], [], []];
  if (before) {
    const seconds = (counts.at - before.at) / 1000;
    rates[0].push(Date.now() / 1000);
    rates[1].push(Math.max(0, counts.reads - before.reads) / seconds);
    rates[2].push(Math.max(0, counts.writes - before.writes) / seconds);
    rates[3].push(Math.max(0, counts.refused - before.refused) / seconds);
  }
  return {
    controllers: controllersOf(metrics),
    rates,
    latencyMost: quantile(0.99, counts.latencies, before?.latencies),
    inflight: total(metrics, 'apiserver_current_inflight_requests'),
    memory: total(metrics, 'process_resident_memory_bytes'),
    loopLag: total(metrics, 'nodejs_eventloop_lag_p99_seconds'),
    watches: total(metrics, 'apiserver_longrunning_requests', ({verb}) => verb === 'WATCH'),
    objects: total(metrics, 'apiserver_resource_objects') || total(metrics, 'apiserver_storage_objects'),
  };
};

export const useSampling = (): Sampling | undefined => {
  const [sampling, setSampling] = useState<Sampling>();
  useEffect(() => {
    const closed = new AbortController();
    let [past, before]: [Sampling | undefined, Counts | undefined] = [undefined, undefined];
    const read = async (): Promise<void> => {
      try {
        const text = await (await respond('/metrics', {accept: 'text/plain', signal: closed.signal})).text();
        const metrics = parseMetrics(text, wanted);
        const counts = countsOf(metrics);
        setSampling((past = added(past, counts, before, metrics)));
        before = counts;
      } catch (error) {
        if (closed.signal.aborted) return;
        setSampling(known => ({...(known ?? added(undefined, countsOf(new Map()), undefined, new Map())), error: messageOf(error)}));
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
