import {naming as namingOf} from '#src/api/naming.js';
import {systemFiles as files} from '#src/base/files.js';
import {systemRandom as random} from '#src/base/random.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {apiserverFlags} from '#src/options/apiserver.js';
import {gateOf} from '#src/options/parsed.js';
import {assembleApiServer} from '#src/plane/api-server.js';
import {hostPort, openSockets} from '#src/plane/sockets.js';
import {openServingCertificates} from '#src/plane/serving-files.js';
import {storeServersOf} from '#src/plane/store-servers.js';
import {openStore} from '#src/storage/open.js';
import {untilStopped, type Invocation} from './program.js';

/** `plat-apiserver`: serves until it is asked to stop. */
export const runApiServer = async ({parsed, log, clock, unhandled, version, stopping, ready}: Invocation<(typeof apiserverFlags)['rows']>): Promise<void> => {
  const {options} = parsed;
  const naming = namingOf(options.naming);
  for (const flag of parsed.set) log.v(1).info({flag}, 'flag is set');
  const certificates = await openServingCertificates({options, naming, files, clock, log, name: 'apiserver', signal: stopping});
  const store = await openStore({
    backend: options.storageBackend,
    directory: options.dataDir,
    servers: storeServersOf({options, naming, gate: gateOf(parsed), minCompatibility: parsed.versions.minCompatibility}),
    naming: naming.name,
    clock,
    random,
    log,
    timeoutMs: options.storageInitializationTimeout,
  });
  const metrics = new MetricsRegistry({process: true, disabled: options.disabledMetrics});
  unhandled.countIn(metrics);
  let address = '';
  const running = await assembleApiServer({
    options,
    naming,
    clock,
    random,
    log,
    metrics,
    store,
    version,
    versions: parsed.versions,
    gate: gateOf(parsed),
    serverAddress: () => address,
  });
  const sockets = await openSockets({options, running, tls: certificates.tlsOptions, clock, random, log});
  certificates.follow(stopping, context => sockets.listener.setSecureContext(context));
  address = hostPort(sockets);
  await running.begin();
  ready(`serving on https://${address}`);
  await untilStopped(stopping);
  log.info('stopping');
  await sockets.stop();
  await running.close();
};
