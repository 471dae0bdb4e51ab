// The ports of the proxy's program: of health checks, of metrics, and of the health checks of services.

import type {Naming} from '#src/api/naming.js';
import {systemRandom as random} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {flagValues} from '#src/options/flag-values.js';
import {gateOf} from '#src/options/parsed-options.js';
import {proxyFlags} from '#src/options/programs/proxy.js';
import {zPages} from '#src/plane/component/zpages.js';
import {groupName} from '#src/proxy/configuration/decode.js';
import {shownConfiguration} from '#src/proxy/configuration/written.js';
import {openPlainPort, type PlainPortParts} from '#src/proxy/health/plain-port.js';
import type {OpenPort} from '#src/proxy/health/service-health.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {metricsRoute, slisRoute} from '#src/serving/administration/metrics.js';
import {configzRoute, verbosityRoute} from '#src/serving/administration/plain.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import {text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import type {ProxyInvocation} from './configuration.js';

type Given = Pick<ProxyInvocation, 'parsed' | 'clock' | 'log' | 'verbosity' | 'version'>;

/** What all ports are opened with. */
export const portParts = ({clock, log}: Pick<Given, 'clock' | 'log'>): PlainPortParts => ({
  clock,
  random,
  failed: error => log.error({err: error}, 'failed to answer a request'),
});

/** Opens the ports of services' health checks. */
export const servicePorts =
  (given: Given): OpenPort =>
  (bindAddress, port, respond) =>
    openPlainPort(portParts(given), {bindAddress, port, flags: '--nodeport-addresses'}, async () => respond());

/** The routes of the port of metrics, which takes requests of everybody. */
export const metricsRoutes = (
  {parsed, clock, log, verbosity, version}: Given,
  {registry, beforeScrape}: {readonly registry: MetricsRegistry; beforeScrape(): Promise<void>},
  naming: Naming,
): AdministrativeRoute[] => {
  const {settings, options} = parsed;
  const checks = new HealthChecks(log);
  checks.add('ping', () => {});
  const profiling = settings.enableProfiling ? [...profilingRoutes({clock, argv: process.argv}), verbosityRoute(verbosity)] : [];
  const scraped = metricsRoute(registry, {resets: false});
  const routes: AdministrativeRoute[] = [
    ...healthRoutes({healthz: checks}),
    slisRoute(naming, [checks], {resets: true}),
    {path: '/proxyMode', answer: () => text(settings.mode)},
    {...scraped, answer: async request => (await beforeScrape(), scraped.answer(request))},
    ...profiling,
    configzRoute(() => ({[groupName(naming)]: shownConfiguration(settings)})),
  ];
  const component = naming.component('proxy');
  const pages = {naming, clock, random, component, version, flags: () => flagValues(proxyFlags, options), gate: gateOf(parsed)};
  return [...routes, ...zPages(pages, () => routes.map(({path}) => path))];
};
