import {type HealthChecks, healthContentType} from '#src/observe/health.js';
import {type AdministrativeRoute, type Asked, notFoundPage, text} from './route.js';

/** `/healthz`, `/livez`, `/readyz` and the individual checks below each. */
export const healthRoutes = (endpoints: Readonly<Record<'healthz' | 'livez' | 'readyz', HealthChecks>>): AdministrativeRoute[] =>
  Object.entries(endpoints).flatMap(([endpoint, checks]) => [
    {path: `/${endpoint}`, answer: (asked: Asked) => all(checks, endpoint, asked)},
    {path: `/${endpoint}/*`, answer: (asked: Asked) => one(checks, endpoint, asked)},
  ]);

const all = async (checks: HealthChecks, endpoint: string, {query}: Asked) => {
  const {status, body} = await checks.all(endpoint, {verbose: query.has('verbose'), exclude: query.getAll('exclude')});
  return text(body, status, healthContentType);
};

const one = async (checks: HealthChecks, endpoint: string, asked: Asked) => {
  const name = asked.path.slice(endpoint.length + 2).replace(/\/$/, '');
  if (name === '') return all(checks, endpoint, asked);
  const found = await checks.one(name);
  return found ? text(found.body, found.status, healthContentType) : notFoundPage();
};
