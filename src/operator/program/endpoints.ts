import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {openAdministration} from '#src/serving/administration/handler.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {metricsRoute} from '#src/serving/administration/metrics.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listenPlain, parseBindAddress} from '#src/serving/plain-listener.js';

export interface EndpointParts {
  readonly options: {readonly metricsBindAddress: string; readonly healthProbeBindAddress: string};
  readonly health: HealthChecks;
  readonly readiness: HealthChecks;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * Opens the ports of probes and metrics. Endpoints with the same address share one port. Rejects with a one-line error
 * that names the flag.
 */
export const openEndpoints = async (parts: EndpointParts): Promise<AsyncDisposable> => {
  const {options, health, readiness, metrics, log} = parts;
  const wanted = [
    {
      address: options.healthProbeBindAddress,
      flag: '--health-probe-bind-address',
      routes: healthRoutes({healthz: health, livez: health, readyz: readiness}),
    },
    {address: options.metricsBindAddress, flag: '--metrics-bind-address', routes: [metricsRoute(metrics, {resets: false})]},
  ];
  const ports = new Map<string, {readonly flags: string[]; readonly routes: AdministrativeRoute[]}>();
  for (const {address, flag, routes} of wanted) {
    const known = ports.get(address) ?? {flags: [], routes: []};
    ports.set(address, {flags: [...known.flags, flag], routes: [...known.routes, ...routes]});
  }
  const open: {close(): Promise<void>}[] = [];
  const close = async () => void (await Promise.all(open.map(listener => listener.close())));
  for (const [text, {flags, routes}] of ports) {
    const address = parseBindAddress(text);
    if (!address) continue; // Disabled by the flag.
    const failed = (error: unknown) => log.error({err: error}, 'failed to answer a request for health or metrics');
    const handler = createHttpServer(openAdministration(routes, failed), {clock: parts.clock, random: parts.random, onFault: failed});
    try {
      const listener = await listenPlain({...address, handler, flags: flags.join(', ')});
      open.push(listener);
      log.info({address: listener.address, port: listener.port, flags}, 'serving health and metrics');
    } catch (error) {
      await close();
      throw error;
    }
  }
  return {[Symbol.asyncDispose]: close};
};
