import {naming as namingOf} from '#src/api/naming.js';
import {systemFiles as files} from '#src/base/files/files.js';
import {systemRandom as random} from '#src/base/random.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {argumentOf} from '#src/options/grammar.js';
import {flagValues} from '#src/options/flag-values.js';
import {gateOf} from '#src/options/parsed-options.js';
import {openRecorder} from '#src/plane/component/recorder.js';
import {componentMetrics} from '#src/plane/component/metrics.js';
import {assembleApiServer} from '#src/plane/api-server/api-server.js';
import {authenticatesClients} from '#src/plane/api-server/authentication/authentication.js';
import {hostPort, openSockets} from '#src/plane/api-server/sockets.js';
import {requestThread} from '#src/plane/request-thread/request-thread.js';
import {openServingCertificates} from '#src/plane/component/serving-files.js';
import {etcdDialer} from '#src/plane/outgoing/egress.js';
import {storeServersOf} from '#src/plane/api-server/store-servers.js';
import {openStore} from '#src/storage/backend/open.js';
import {untilStopped, type Invocation} from '#src/program/program.js';

/** `plat-apiserver`: serves until it is stopped. */
export const runApiServer = async ({
  parsed,
  log,
  clock,
  unhandled,
  version,
  stopping,
  ready,
}: Invocation<(typeof apiserverFlags)['rows']>): Promise<void> => {
  const {options} = parsed;
  const naming = namingOf(options.naming);
  for (const flag of parsed.set) log.v(1).info({flag}, 'flag is set');
  if (!authenticatesClients(options))
    log.warn(
      'no client can authenticate: give --client-ca-file for client certificates, --token-auth-file for tokens, or use plat up, which makes all of it',
    );
  const certificates = await openServingCertificates({options, naming, files, clock, log, name: 'apiserver', signal: stopping});
  const gate = gateOf(parsed);
  const metrics = await componentMetrics(parsed, naming);
  unhandled.countIn(metrics);
  const sockets = await openSockets({options, naming, gate, tls: certificates.tlsOptions, clock, random, log, meter: metrics});
  certificates.follow(stopping, context => sockets.listener.setSecureContext(context));
  const address = hostPort(sockets);
  const dial = await etcdDialer({options, naming, clock, random, meter: metrics});
  const store = await openStore({
    backend: options.storageBackend,
    directory: options.dataDir,
    historyBytes: options.embeddedHistoryBytes,
    servers: storeServersOf({options, naming, gate, minCompatibility: parsed.versions.minCompatibility, dial}),
    naming: naming.name,
    clock,
    random,
    log,
    timeoutMs: options.storageInitializationTimeout,
    signal: stopping,
    waiting: sockets.reportWaiting,
  }).catch((error: unknown) => {
    if (!stopping.aborted) throw error;
  });
  if (!store) return sockets.listener.close();
  const recorder = await openRecorder(options, {clock, diskClock: clock, log, meter: metrics});
  const running = await assembleApiServer({
    options,
    naming,
    clock,
    random,
    log,
    metrics,
    store,
    recorder,
    version,
    versions: parsed.versions,
    given: parsed.set,
    flags: () => flagValues(apiserverFlags, options),
    gate,
    serverAddress: address,
    largeRequests: requestThread(parsed.assignments.map(argumentOf)),
  });
  sockets.serve(running.handler);
  const starting = running.begin();
  starting.then(() => ready(`serving on https://${address}`)).catch(() => {}); // Awaited below, unless the program is stopped before.
  await Promise.race([starting.then(() => untilStopped(stopping)), untilStopped(stopping)]);
  log.info('stopping');
  await sockets.stop(running);
  await running.close();
  await recorder?.close();
};
