import type {Naming} from '#src/api/naming.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {HealthChecks} from '#src/observe/health.js';
import {type AdministrativeRoute, text} from './route.js';

/** `/metrics`, in the text format. */
export const metricsRoute = (registry: MetricsRegistry): AdministrativeRoute => ({
  path: '/metrics',
  answer: () => exposition(registry),
});

/** `/metrics/slis`: how the checks of each health endpoint have fared whenever somebody asked (KEP-3466). DELETE starts over. */
export const slisRoute = (registry: MetricsRegistry, naming: Naming, checks: readonly HealthChecks[]): AdministrativeRoute => {
  const now = `${naming.self}_healthcheck`;
  const total = `${naming.self}_healthchecks_total`;
  const gauge = registry.gauge({name: now, help: 'This metric records the result of a single healthcheck.', labels: ['name', 'type']});
  const counter = registry.counter({name: total, help: 'This metric records the results of all healthcheck.', labels: ['name', 'type', 'status']});
  for (const one of checks) {
    one.observed = (type, name, passed) => {
      gauge.set(passed ? 1 : 0, {name, type});
      counter.add({name, type, status: passed ? 'success' : 'error'});
    };
  }
  return {
    path: '/metrics/slis',
    answer({method}) {
      if (method !== 'DELETE') return exposition(registry);
      registry.reset(now);
      registry.reset(total);
      return text('metrics reset\n');
    },
  };
};

const exposition = async (registry: MetricsRegistry) => {
  const {body, contentType} = await registry.exposition();
  return text(body, 200, contentType);
};
