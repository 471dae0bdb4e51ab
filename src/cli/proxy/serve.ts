// Runs the proxy: its ports, and the syncs of its rules.

import type {Undo} from '#src/base/undo.js';
import {cleanFlows} from '#src/proxy/conntrack/clean-flows.js';
import {healthResponses} from '#src/proxy/health/health-responses.js';
import {keepPortOpen} from '#src/proxy/health/plain-port.js';
import {ProxyHealth} from '#src/proxy/health/proxy-health.js';
import {ServiceHealth} from '#src/proxy/health/service-health.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {proxyMetrics, type ProxyMetrics} from '#src/proxy/metrics/proxy-metrics.js';
import type {SyncHooks} from '#src/proxy/mode/hooks.js';
import type {PreparedMode} from '#src/proxy/modes/prepare.js';
import type {ResolvedSettings} from '#src/proxy/node/rule-settings.js';
import {startProxy} from '#src/proxy/start.js';
import {NodePortAddresses} from '#src/proxy/state/node-port-addresses.js';
import {openAdministration} from '#src/serving/administration/handler.js';
import type {ProxyInvocation} from './configuration.js';
import {nodeReference, type Opened} from './open.js';
import {metricsRoutes, portParts, servicePorts} from './ports.js';
import {periodsOf} from './rules.js';

type Given = ProxyInvocation;

/** The rules, and the mode that writes them. */
export interface Prepared {
  readonly resolved: ResolvedSettings;
  readonly prepared: PreparedMode;
}

/** Opens the ports and routes services. Rejects if the proxy has to end. */
export const serve = (given: Given, opened: Opened, {resolved, prepared}: Prepared, undo: Undo): Promise<never> => {
  const {parsed, clock, log} = given;
  const {informers, node, connection, metrics: meter, signal} = opened;
  const {naming} = connection;
  const periods = periodsOf(parsed.settings);
  const metrics = proxyMetrics(meter);
  const health = new ProxyHealth({clock, timeoutMs: 2 * periods.syncPeriodMs, node: () => node.current});
  const services = serviceHealth(given, opened, resolved, health);
  undo.defer(() => services[Symbol.asyncDispose]());
  return new Promise((_, reject) => {
    openPorts(given, opened, {health, metrics, beforeScrape: () => prepared.beforeScrape()}).catch(reject);
    const proxy = startProxy({
      informers,
      node,
      settings: resolved,
      periods,
      createMode: prepared.create,
      hooks: hooksOf(given, health, services, metrics),
      podRangesChanged: () => reject(new Error('the ranges of the pods of the node have changed')),
      naming,
      clock,
      log,
      metrics,
      signal,
    });
    undo.defer(() => proxy.stop());
    informers.start();
    prepared.watch(() => proxy.request(), signal).catch(reject);
  });
};

const hooksOf = ({clock, log}: Given, health: ProxyHealth, services: ServiceHealth, metrics: ProxyMetrics): SyncHooks => ({
  queued: family => health.queued(family),
  updated: family => health.updated(family),
  checkHealth: (family, checks) => services.update(family, checks),
  cleanFlows: (family, state) => cleanFlows({kernel: systemKernel, clock, log, metrics}, family, state),
});

const serviceHealth = (
  given: Given,
  {nodeName, connection, events}: Opened,
  {rules}: ResolvedSettings,
  health: ProxyHealth,
): ServiceHealth =>
  new ServiceHealth({
    nodeName,
    naming: connection.naming,
    events,
    log: given.log,
    openPort: servicePorts(given),
    addresses(family) {
      const addresses = new NodePortAddresses(family, rules.nodePortAddresses);
      return addresses.matchesAll ? undefined : addresses.of(systemKernel.addresses());
    },
    isProxyHealthy: () => health.isHealthy,
  });

/** What the ports show. */
interface Served {
  readonly health: ProxyHealth;
  readonly metrics: ProxyMetrics;
  beforeScrape(): Promise<void>;
}

/**
 * Keeps the ports of health checks and metrics open. Rejects if one cannot be opened and that is to end the program.
 */
const openPorts = async (given: Given, opened: Opened, {health, metrics, beforeScrape}: Served): Promise<void> => {
  const {parsed, clock, log} = given;
  const {healthzBindAddress, metricsBindAddress, bindAddressHardFail} = parsed.settings;
  const {signal, connection} = opened;
  const ports = portParts(given);
  const refused = (what: string, reason: string, message: string) => (error: unknown) => {
    log.error({err: error}, message);
    if (!bindAddressHardFail) return;
    opened.events.warning(nodeReference(opened), reason, `${what}${(error as Error).message}`);
    throw error;
  };
  const administration = openAdministration(
    metricsRoutes(given, {registry: opened.metrics, beforeScrape}, connection.naming),
    ports.failed,
  );
  const healthz = healthResponses({health, clock, metrics});
  await Promise.all([
    healthzBindAddress &&
      keepPortOpen({
        ...ports,
        address: healthzBindAddress,
        flag: 'healthz-bind-address',
        handler: async request => healthz(request),
        signal,
        refused: refused('healthz server failed: ', 'FailedToStartProxierHealthcheck', 'the server of health checks failed'),
      }),
    metricsBindAddress &&
      keepPortOpen({
        ...ports,
        address: metricsBindAddress,
        flag: 'metrics-bind-address',
        handler: administration,
        signal,
        refused: refused('', 'FailedToStartMetricServer', 'starting the server of metrics failed'),
      }),
  ]);
};
