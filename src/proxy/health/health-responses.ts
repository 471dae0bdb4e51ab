// What the port for health checks answers.

import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {Counter} from '#src/base/meter.js';
import type {ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import {notFoundPage} from '#src/serving/administration/route.js';
import type {ProxyHealth} from './proxy-health.js';

export interface HealthResponseParts {
  readonly health: ProxyHealth;
  readonly clock: Clock;
  readonly metrics: Pick<ProxyMetrics, 'healthz' | 'livez'>;
}

/** How Go writes a time that was never set. */
const noTime = '0001-01-01T00:00:00Z';

/** A JSON response of the health of a proxy or a service. */
export const healthResponse = (isHealthy: boolean, body: string, headers: Readonly<Record<string, string>> = {}): ApiResponse => ({
  status: isHealthy ? 200 : 503,
  headers: {'X-Content-Type-Options': 'nosniff', ...headers},
  body: {kind: 'bytes', bytes: body, contentType: 'application/json'},
});

/**
 * Returns the handler of `/healthz`, which load balancers ask whether to use the node, and of `/livez`, which does not
 * look at the node.
 */
export const healthResponses = ({health, clock, metrics}: HealthResponseParts): ((request: ApiRequest) => ApiResponse) => {
  const time = (ms: number | undefined): string => (ms === undefined ? noTime : new Date(ms).toISOString());
  const respond = (isHealthy: boolean, counter: Counter, nodeEligible: boolean | undefined): ApiResponse => {
    counter.add({code: isHealthy ? '200' : '503'});
    const families = [...health.families];
    // While all is well the time is that of the request: nothing has changed since.
    const lastUpdated = isHealthy ? clock.now() : families.map(([, each]) => each.lastUpdated).sort((a, b) => b - a)[0];
    const status = families.map(([family, each]) => [family, {lastUpdated: time(each.lastUpdated), healthy: each.isHealthy}]);
    const body = {
      lastUpdated: time(lastUpdated),
      currentTime: time(clock.now()),
      ...(nodeEligible === undefined ? {} : {nodeEligible}),
      healthy: health.isHealthy,
      ...(status.length > 0 ? {status: Object.fromEntries(status) as unknown} : {}),
    };
    return healthResponse(isHealthy, JSON.stringify(body));
  };
  return ({url}) => {
    const path = url.split('?', 1)[0];
    if (path === '/livez') return respond(health.isHealthy, metrics.livez, undefined);
    if (path !== '/healthz') return notFoundPage();
    const {isNodeEligible} = health;
    return respond(health.isHealthy && isNodeEligible, metrics.healthz, isNodeEligible);
  };
};
