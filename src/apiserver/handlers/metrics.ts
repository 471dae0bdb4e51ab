import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {Route} from '#src/apiserver/routes.js';

/** What scrapers read. */
export const metricsRoute = (metrics: MetricsRegistry): Route => ({
  path: '/metrics',
  handler: async () => {
    const {contentType, body} = await metrics.exposition();
    return {status: 200, headers: {}, body: {kind: 'bytes', bytes: body, contentType}};
  },
});
