import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {openAdministration} from '#src/serving/administration/handler.js';
import {metricsRoute} from '#src/serving/administration/metrics.js';
import {text, type AdministrativeRoute} from '#src/serving/administration/route.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listenPlain, parseBindAddress} from '#src/serving/plain-listener.js';
import type {DnsOptions} from '#src/options/programs/dns.js';

export interface PageParts {
  readonly options: Pick<DnsOptions, 'healthAddress' | 'readyAddress' | 'metricsAddress'>;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  isReady(): boolean;
}

/** The part that is not ready, by the name that it has in CoreDNS. */
const unready = 'kubernetes';

/** Opens the ports of probes and metrics. Pages with the same address share one. Rejects with an error of one line. */
export const openPages = async ({options, metrics, clock, random, log, isReady}: PageParts): Promise<AsyncDisposable> => {
  const pages: readonly {readonly address: string; readonly flag: string; readonly route: AdministrativeRoute}[] = [
    {address: options.healthAddress, flag: '--health-address', route: {path: '/health', answer: () => text('OK')}},
    {
      address: options.readyAddress,
      flag: '--ready-address',
      route: {path: '/ready', answer: () => (isReady() ? text('OK') : text(unready, 503))},
    },
    {address: options.metricsAddress, flag: '--metrics-address', route: metricsRoute(metrics, {resets: false})},
  ];
  const failed = (error: unknown) => log.error({err: error}, 'failed to answer a request for health or metrics');
  await using undo = new Undo();
  for (const address of new Set(pages.map(page => page.address))) {
    const at = parseBindAddress(address);
    if (!at) continue; // Turned off.
    const own = pages.filter(page => page.address === address);
    const routes = own.map(({route}) => route);
    const handler = createHttpServer(openAdministration(routes, failed), {clock, random, onFault: failed});
    const listener = await listenPlain({...at, handler, flags: own.map(({flag}) => flag).join(', ')});
    undo.defer(() => listener.close());
    log.info({address: listener.address, port: listener.port, paths: routes.map(({path}) => path)}, 'serving');
  }
  const open = undo.move();
  return {[Symbol.asyncDispose]: () => open[Symbol.asyncDispose]()};
};
