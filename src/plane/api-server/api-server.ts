// Composes one API server from its options. `assembleApiServer` reads in the order of its stages, of which each uses
// the values of those before. Used by `plat-apiserver`, by planes, and by the thread for large requests. Listeners, the
// store and other components are created by the callers.

import {setMaxListeners} from 'node:events';
import type {ApiHandler} from '#src/api/request.js';
import type {UserInfo} from '#src/api/user.js';
import {registryPolicy} from '#src/apiserver/authorization/registry-policy.js';
import {compactRegularly} from '#src/apiserver/registry/compaction.js';
import {inMemoryPeers, Peers} from '#src/apiserver/registry/peers.js';
import {startError} from '#src/apiserver/registry/read/unreadable.js';
import {storedResources} from '#src/apiserver/registry/stored-versions.js';
import type {ApiServer} from '#src/apiserver/server.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import {lazily} from '#src/base/lazily.js';
import {aborted} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {SelfService} from '#src/controlplane/self-service.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {openTracing} from '#src/plane/outgoing/tracing.js';
import {firstServiceAddress, selfServiceOf, serviceRangesOf} from './addresses.js';
import {openAudit, type ServerAudit} from './audit.js';
import {coreOf} from './core.js';
import {withEncryption} from './encryption.js';
import type {ServerHealth} from './health.js';
import {hostOf, serverUser, type ApiServerParts, type OtherThread} from './parts.js';
import {readersOf, type Readers} from './readers.js';
import {registryOf} from './registry.js';
import {readSettings, type Settings} from './settings.js';
import {removeDamagedRecords} from './start/damaged-records.js';
import {ownObjects} from './start/own-objects.js';
import {repeatAfterReplacement} from './start/replaced-data.js';
import {publishesStorageVersions, startHooks} from './start/hooks.js';
import {storePrefix} from './store-servers.js';
import type {Tracing} from '#src/transport/otlp/tracing.js';

/** A running API server, reachable in process; sockets are added separately. */
export interface RunningApiServer {
  readonly server: ApiServer;
  readonly handler: ApiHandler;
  readonly health: ServerHealth;
  readonly metrics: MetricsRegistry;
  readonly recorder: FlightRecorder | undefined;
  /** Whether the Node authorizer is in force. */
  readonly authorizesNodes: boolean;
  /** A client with the identity of a user, without credentials. */
  clientAs(user: UserInfo, userAgent?: string): Client;
  /**
   * Follows the objects that requests depend on: roles, nodes and definitions of custom resources. A part of `begin`;
   * further calls do nothing.
   */
  follow(): Promise<void>;
  /** Runs the start hooks, which must finish before the server is ready: bootstrap objects and the like. */
  begin(): Promise<void>;
  /** Ends the loops over the server's own objects, which use watches as clients do. */
  endLoops(): void;
  /** Stops the server before the sockets close; the store is closed by `close`. */
  close(): Promise<void>;
}

/** When the work of a server ends: loops over its own objects before watches end, all else after. */
interface Lifetimes {
  readonly looping: AbortController;
  readonly following: AbortController;
}

/**
 * Composes an API server, in stages: what the options name (files, authorizers), the registry, what reads it (tokens,
 * services, admission, aggregation), and the request core. Rejects with an error of one line that names the flag when a
 * file it needs is unusable.
 */
export const assembleApiServer = async (given: ApiServerParts): Promise<RunningApiServer> => {
  const lifetimes: Lifetimes = {looping: new AbortController(), following: new AbortController()};
  const {looping, following} = lifetimes;
  const {signal} = following;
  setMaxListeners(0, signal, looping.signal); // As many listeners as there are files, kinds and periods.
  try {
    const {parts, checks} = await withEncryption(given, signal);
    const settings = await readSettings(parts, signal);
    for (const {name, check} of checks) settings.health.add(name, check);
    const registry = registryOf(parts, settings);
    const readers = readersOf(parts, settings, registry, signal);
    const recording = await recordingOf(parts, settings);
    const largeRequests = largeRequestsOf(parts);
    const server = coreOf(parts, settings, registry, readers, {
      largeRequests,
      auditor: recording.audit?.auditor,
      tracer: recording.tracing?.tracer,
    });
    settings.loopback.attach(server.handler);
    return runningServer({parts, settings, readers, server, largeRequests, ...recording}, lifetimes);
  } catch (error) {
    following.abort(aborted); // Files are followed already when a later one cannot be used.
    looping.abort(aborted);
    throw error;
  }
};

/** The audit and the tracing of requests. */
interface Recording {
  readonly audit?: ServerAudit;
  readonly tracing?: Tracing | undefined;
}

/** Opens what records requests. Nothing does behind another server, which records them itself. */
const recordingOf = async (parts: ApiServerParts, {egress}: Settings): Promise<Recording> => {
  if (parts.isBehindAnother) return {};
  const audit = await openAudit(parts.options, {...parts, network: egress.network('controlplane')});
  const tracing = await openTracing({...parts, egress, serverId: serverIdentity(hostOf(parts))});
  return {audit, tracing};
};

const largeRequestsOf = ({store, clock, log, recorder, metrics: meter, serverAddress: address, options, largeRequests}: ApiServerParts) =>
  largeRequests?.({store, clock, log, recorder, meter, address, timeoutMs: options.requestTimeout});

/** The values of all stages. */
interface Stages extends Recording {
  readonly parts: ApiServerParts;
  readonly settings: Settings;
  readonly readers: Readers;
  readonly server: ApiServer;
  readonly largeRequests: OtherThread | undefined;
}

/** The service of the API servers, which lists this one. */
const selfServiceFor = ({options, store, serverAddress, clock, log}: ApiServerParts, client: Client): SelfService => {
  const peers = store.shared ? new Peers({store, prefix: storePrefix(options)}) : inMemoryPeers();
  const revision = store.shared ? {} : {revision: () => store.revision()};
  return new SelfService({client, clock, log, ...revision, ...selfServiceOf(options, serverAddress, peers)});
};

/** The last stage: what begins when the server serves, and how it ends. */
const runningServer = (stages: Stages, {looping, following}: Lifetimes): RunningApiServer => {
  const {parts, settings, readers, server, largeRequests, audit, tracing} = stages;
  const {options, store, log, gate, metrics: meter} = parts;
  const {health, authorizers, proxy, clientAs, client} = settings;
  const {registrations, aggregation, peers} = readers;
  const {registry} = server;
  const {signal} = following;
  const selfService = selfServiceFor(parts, client);
  // The server before this one publishes for both, and hands over nothing that has to wait for it.
  if (!parts.isBehindAnother && publishesStorageVersions(server, gate)) server.storedVersions.expect(storedResources(registry));
  const follow = lazily(async () => {
    await authorizers.rbac?.follow(registryPolicy(registry), signal);
    await authorizers.nodes?.follow(registry, signal);
    await server.custom.follow(signal);
    await server.flowControl?.follow(registry, signal);
  });
  const leave = async () => {
    await peers?.leave().catch((error: unknown) => log.warn({err: error}, 'the address for other servers was not removed'));
    await selfService.leave().catch((error: unknown) => log.warn({err: error}, 'the endpoint of this server could not be taken back'));
  };
  const begin = async () => {
    const own = {host: hostOf(parts), user: serverUser, rbac: authorizers.rbac !== undefined, serviceRanges: serviceRangesOf(options)};
    await removeDamagedRecords({store, registry, log}, () =>
      ownObjects({...parts, ...own, registry, serviceAddress: firstServiceAddress(options)}),
    );
    maintainStore(parts, server, signal);
    readers.otherTokens.start();
    await follow();
    const start = {...parts, ...own, meter, server, client, health, proxy, registrations, aggregation, selfService, peers};
    const hooks = startHooks(start, {looping: looping.signal, serving: signal});
    await health.run(hooks);
    repeatAfterReplacement({hooks, store, health, clock: parts.clock, log}, signal);
  };
  return {
    server,
    handler: server.handler,
    health,
    metrics: meter,
    recorder: parts.recorder,
    authorizesNodes: authorizers.nodes !== undefined,
    clientAs,
    follow,
    begin: () =>
      begin().catch((error: unknown) => {
        throw startError(error);
      }),
    endLoops: () => looping.abort(aborted),
    async close() {
      await leave();
      looping.abort(aborted);
      following.abort(aborted);
      server.endWatches();
      server.backends[Symbol.dispose]();
      await largeRequests?.close();
      await audit?.close();
      await tracing?.close();
      await store.close();
      // All servers of the process share the bound of the caches.
      for (const {objects} of registry.resources) objects.clear();
    },
  };
};

/** Follows the storage metrics and compacts the store, both periodically. */
const maintainStore = (
  {options, naming, clock, log, store, metrics: meter}: ApiServerParts,
  server: ApiServer,
  signal: AbortSignal,
): void => {
  const [countEveryMs, sizeEveryMs] = [options.kvstoreCountMetricPollPeriod, options.kvstoreDbMetricPollInterval];
  server.storageMetrics.follow({clock, log, meter, naming, countEveryMs, sizeEveryMs}, signal);
  compactRegularly({store, clock, log, intervalMs: options.kvstoreCompactionInterval}, signal);
};
