import {healthContentType, type HealthChecks} from '#src/observe/health.js';
import {pageNotFound, type Route} from './route.js';

/** The routes of one health endpoint: all its checks at `/{endpoint}`, each one below it. */
export const healthRoutes = (endpoint: string, checks: HealthChecks): Route[] => [
  {
    path: `/${endpoint}`,
    handler: async ({info}) => {
      const {status, body} = await checks.all(endpoint, {verbose: info.query.has('verbose'), exclude: info.query.getAll('exclude')});
      return {status, headers: {'X-Content-Type-Options': 'nosniff'}, body: {kind: 'bytes', bytes: body, contentType: healthContentType}};
    },
  },
  {
    path: `/${endpoint}/*`,
    below: () => checks.names,
    handler: async ({info}) => {
      const result = await checks.one(info.path.slice(endpoint.length + 2));
      if (!result) return pageNotFound();
      return {status: result.status, headers: {}, body: {kind: 'bytes', bytes: result.body, contentType: healthContentType}};
    },
  },
];
