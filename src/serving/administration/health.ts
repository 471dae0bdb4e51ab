import {type HealthChecks, healthContentType} from '#src/observe/health.js';
import {type AdministrativeRoute, type AdministrativeRequest, notFoundPage, text} from './route.js';

/** `/healthz`, `/livez`, `/readyz` and the individual checks below each. */
export const healthRoutes = (endpoints: Readonly<Partial<Record<'healthz' | 'livez' | 'readyz', HealthChecks>>>): AdministrativeRoute[] =>
  Object.entries(endpoints).flatMap(([endpoint, checks]) => [
    {path: `/${endpoint}`, answer: (request: AdministrativeRequest) => all(checks, endpoint, request)},
    {path: `/${endpoint}/*`, answer: (request: AdministrativeRequest) => one(checks, endpoint, request)},
  ]);

const all = async (checks: HealthChecks, endpoint: string, {query}: AdministrativeRequest) => {
  const {status, body} = await checks.all(endpoint, {verbose: query.has('verbose'), exclude: query.getAll('exclude')});
  return text(body, status, healthContentType);
};

const one = async (checks: HealthChecks, endpoint: string, request: AdministrativeRequest) => {
  const name = request.path.slice(endpoint.length + 2).replace(/\/$/, '');
  if (name === '') return all(checks, endpoint, request);
  const found = await checks.one(name);
  return found ? text(found.body, found.status, healthContentType) : notFoundPage();
};
