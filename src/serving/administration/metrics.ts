import type {Naming} from '#src/api/naming.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {HealthChecks} from '#src/observe/health.js';
import {type AdministrativeRoute, text} from './route.js';

export interface MetricsRouteOptions {
  /** Metrics of other components of this process, which are merged into the output. */
  readonly beside?: readonly MetricsRegistry[];
  /** Whether DELETE resets the metrics. */
  readonly resets: boolean;
}

/** `/metrics`, in the text format. */
export const metricsRoute = (registry: MetricsRegistry, {beside = [], resets}: MetricsRouteOptions): AdministrativeRoute => ({
  path: '/metrics',
  async answer({method}) {
    if (resets && method === 'DELETE') {
      for (const each of [registry, ...beside]) each.reset();
      return text('metrics reset\n');
    }
    const {bytes, contentType} = await registry.encoded(beside);
    return text(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), 200, contentType);
  },
});

/** `/metrics/slis`: the results of each health check at the times it was requested (KEP-3466). */
export const slisRoute = (
  naming: Naming,
  checks: readonly HealthChecks[],
  options: Pick<MetricsRouteOptions, 'resets'>,
): AdministrativeRoute => {
  const registry = new MetricsRegistry();
  const gauge = registry.gauge({
    name: `${naming.self}_healthcheck`,
    help: 'This metric records the result of a single healthcheck.',
    labels: ['name', 'type'],
    stability: 'STABLE',
  });
  const counter = registry.counter({
    name: `${naming.self}_healthchecks_total`,
    help: 'This metric records the results of all healthcheck.',
    labels: ['name', 'type', 'status'],
    stability: 'STABLE',
  });
  registry.observed({name: 'process_start_time_seconds', help: 'Start time of the process since unix epoch in seconds.'}, () => [
    [{}, performance.timeOrigin / 1000],
  ]);
  for (const one of checks) {
    one.observed = (type, name, passed) => {
      gauge.set(passed ? 1 : 0, {name, type});
      counter.add({name, type, status: passed ? 'success' : 'error'});
    };
  }
  return {...metricsRoute(registry, options), path: '/metrics/slis'};
};
