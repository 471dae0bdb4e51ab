// Composes one API server from its options, in stages. Used by `plat-apiserver`, by planes, and by the thread for large requests. Listeners, the store and
// other components are created by the callers.

import {setMaxListeners} from 'node:events';
import {hostname} from 'node:os';
import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import type {UsageReader} from '#src/api/node/usage.js';
import type {UserInfo} from '#src/api/user.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {versionRoutes} from '#src/apiserver/handlers/version.js';
import {compactRegularly} from '#src/apiserver/registry/compaction.js';
import {healthRoutes} from '#src/apiserver/handlers/health.js';
import {logRoutes, systemLogFolder} from '#src/apiserver/handlers/logs.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {Discovery} from '#src/apiserver/discovery/handler.js';
import {Loopback} from '#src/apiserver/loopback.js';
import {createApiServer, type ApiServer, type ApiServerSettings} from '#src/apiserver/server.js';
import {createRegistry} from '#src/apiserver/server-registry.js';
import {inProcessClient} from '#src/client/in-process.js';
import type {Client} from '#src/client/client.js';
import {storedResources} from '#src/apiserver/registry/stored-versions.js';
import type {LargeRequests} from '#src/apiserver/request/large.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {MergedOpenApi} from '#src/apiserver/aggregation/merged-openapi.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {binaryVersion, type Versions} from '#src/options/versions.js';
import {explicitAlphas, type EmulatedRelease} from '#src/resources/builtin/served-versions.js';
import {zPages} from '#src/plane/component/zpages.js';
import type {Route} from '#src/apiserver/handlers/route.js';
import {metricsRoute, slisRoute} from '#src/serving/administration/metrics.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import type {Store} from '#src/storage/store.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {dialer} from '#src/transport/dial.js';
import {connections} from '#src/transport/http1/connections.js';
import {anonymousOf, authenticatorsOf, tokenAuthenticator} from './authentication.js';
import {configuredJwt} from './configured-jwt.js';
import {openTokenWebhook, tokenAuthenticators} from './token-authenticators.js';
import {openApiRoutes} from '#src/apiserver/handlers/openapi.js';
import {registryPolicy} from '#src/apiserver/authorization/registry-policy.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {admissionPlugins, readAdmission} from './admission.js';
import {serverPeers} from './peers.js';
import {followAgentTrust} from './agent-trust.js';
import {openAudit} from './audit.js';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {openTracing} from '#src/plane/outgoing/tracing.js';
import {openEgress} from '#src/plane/outgoing/egress.js';
import {createAuthorizers} from './authorization.js';
import {componentsOf, type ComponentParts} from './components.js';
import {aggregate, type Aggregation} from '#src/apiserver/aggregation/aggregation.js';
import {Registrations} from '#src/apiserver/aggregation/registrations.js';
import {selfCalls} from '#src/apiserver/backends/self-calls.js';
import {isSelf, serviceResolver, type ServiceReference} from '#src/apiserver/backends/service-resolver.js';
import {AnswerBudget} from '#src/apiserver/backends/answer-budget.js';
import {webhookCaller, type WebhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import type {WebhookUsers} from '#src/apiserver/backends/webhook-users.js';
import {conversions} from '#src/apiserver/custom/conversion.js';
import {conversionMetrics} from '#src/apiserver/custom/conversion-metrics.js';
import {webhookConversion} from '#src/apiserver/custom/webhook-conversion.js';
import {ServerHealth} from './health.js';
import {proxyClient} from '#src/plane/outgoing/proxy-client.js';
import {withEncryption} from './encryption.js';
import {externalAddress, serviceRangesOf} from './self-service.js';
import {storePrefix} from './store-servers.js';
import {issuesTokens, openSigner, serviceAccountTokens} from './service-account-tokens.js';
import {serverStart, publishesStorageVersions} from './server-start.js';

/** What another thread for large requests needs of the server. */
export interface LargeRequestParts extends Pick<ApiServerParts, 'store' | 'clock' | 'log'> {
  readonly meter: MetricsRegistry;
  /** `host:port` by which clients reach the server. */
  readonly address: string;
  /** The time limit of a request. */
  readonly timeoutMs: number;
}

/** Handles large requests in another thread. */
export interface OtherThread extends LargeRequests {
  close(): Promise<void>;
}

/** The dependencies of an API server besides its options. The store belongs to the caller until `stop` closes it. */
export interface ApiServerParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /** The metrics of other components of the process, which are served together with the server's own. */
  readonly metricsBeside?: readonly MetricsRegistry[];
  readonly store: Store;
  readonly version: VersionInfo;
  /** The release to emulate, and the minimum compatibility of stored data. */
  readonly versions: Versions;
  /** The flags that were given. */
  readonly given?: ReadonlySet<string>;
  /** The effective flags. */
  flags(): Readonly<Record<string, string>>;
  gate(name: string): boolean;
  /** `host:port` by which clients reach the server; empty without a listener. */
  readonly serverAddress: string;
  /** The name of the host, from which the server's identity follows; by default this machine's. */
  readonly host?: string;
  /** Creates the handler of large requests in another thread; without it this thread handles all. `close` of the server closes it. */
  readonly largeRequests?: ((parts: LargeRequestParts) => OtherThread) | undefined;
  /** Whether another server passes its requests to this one. That server limits them, and records them in the audit log. */
  readonly isBehindAnother?: boolean;
  /** Dials nodes, pods and services; by default over the network of this machine. */
  readonly network?: Network;
  /** Returns the metrics API's source of usage; without it that API is not served. `client` has the server's own identity. */
  readonly usage?: ((client: Client) => UsageReader) | undefined;
  /** The health checks of the other components of the control plane in this process. */
  readonly beside?: NonNullable<ComponentParts['beside']>;
}

/** A running API server, reachable in process; sockets are added separately. */
export interface RunningApiServer {
  readonly server: ApiServer;
  readonly handler: ApiHandler;
  readonly health: ServerHealth;
  readonly metrics: MetricsRegistry;
  /** Whether the Node authorizer is in force. */
  readonly authorizesNodes: boolean;
  /** A client with the identity of a user, without credentials. */
  clientAs(user: UserInfo, userAgent?: string): Client;
  /** Follows the objects that requests depend on: roles, nodes and definitions of custom resources. A part of `begin`. */
  follow(): Promise<void>;
  /** Runs the start hooks, which must finish before the server is ready: bootstrap objects and the like. */
  begin(): Promise<void>;
  /** Ends the loops over the server's own objects, which use watches as clients do. */
  endLoops(): void;
  /** Stops the server before the sockets close; the store is closed by `close`. */
  close(): Promise<void>;
}

/** The server's own identity. */
const serverUser: UserInfo = {name: 'system:apiserver', groups: ['system:masters', 'system:authenticated']};

/** When the work of a server ends: loops over its own objects before watches end, all else after. */
interface Lifetimes {
  readonly looping: AbortController;
  readonly following: AbortController;
}

/** The first stage: what the options name, and the server's own way in, which works once the handler is attached. */
const readSettings = async (parts: ApiServerParts, {following: {signal}}: Lifetimes) => {
  const {options, naming, clock, random, log, store, gate, metrics: meter} = parts;
  const health = new ServerHealth({
    clock,
    log,
    naming,
    store,
    livezGraceMs: options.livezGracePeriod,
    healthTimeoutMs: options.kvstoreHealthcheckTimeout,
    readyTimeoutMs: options.kvstoreReadycheckTimeout,
  });
  const direct = parts.network ?? systemNetwork(clock);
  const egress = await openEgress({options, naming, clock, random, meter, network: direct});
  const toControlPlane = egress.network('controlplane');
  const authorizers = await createAuthorizers(options, {
    naming,
    clock,
    random,
    log,
    meter,
    files: systemFiles,
    network: toControlPlane,
    signal,
    gate,
  });
  const configured = await configuredJwt({options, naming, gate});
  if (configured?.anonymous && parts.given?.has('anonymous-auth'))
    throw new Error(
      `--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file ${options.authenticationConfig}`,
    );
  const authenticators = await authenticatorsOf(options, {clock, log, naming, gate, files: systemFiles, signal});
  const proxy = await proxyClient({options, files: systemFiles, clock, log});
  const admission = await readAdmission(options, {naming, log, clock, random, signal});
  const agentTrust = await followAgentTrust(options, {files: systemFiles, clock, log, signal});
  const tokenWebhook = await openTokenWebhook(options, {naming, clock, random, log, network: toControlPlane});
  signal.addEventListener('abort', () => void tokenWebhook?.[Symbol.asyncDispose]());
  const signer = await openSigner(options, {clock, log, meter}, signal);
  const loopback = new Loopback();
  const clientAs = (user: UserInfo, userAgent = naming.component('apiserver')) =>
    inProcessClient(loopback.handler, {naming, user, userAgent, clock});
  return {
    health,
    authorizers,
    authenticators,
    configured,
    tokenWebhook,
    signer,
    anonymous: anonymousOf(options, log, configured?.anonymous),
    proxy,
    admission,
    agentTrust,
    egress,
    direct,
    network: egress.network('cluster'),
    loopback,
    clientAs,
    client: clientAs(serverUser),
  };
};

type Settings = Awaited<ReturnType<typeof readSettings>>;

/** The second stage: the resources over the store. */
const registryOf = (parts: ApiServerParts, {authorizers}: Settings): Registry => {
  const {options, naming, clock, random, log, store, gate, metrics: meter} = parts;
  return createRegistry({
    naming,
    clock,
    random,
    store,
    meter,
    log,
    gate,
    prefix: storePrefix(options),
    runtimeConfig: options.runtimeConfig,
    release: releaseOf(options, parts.versions, log),
    minCompatibility: parts.versions.minCompatibility,
    authorizer: authorizers.authorizer,
    issuesTokens: issuesTokens(options),
    servesUsage: parts.usage !== undefined,
    allowPrivileged: options.allowPrivileged,
    eventTtlSeconds: options.eventTtl / 1000,
    leaseReuseSeconds: options.leaseReuseDurationSeconds,
    garbageCollector: options.enableGarbageCollector,
    deleteCollectionWorkers: options.deleteCollectionWorkers,
    watchCache: {on: options.watchCache, without: uncached(options.watchCacheSizes)},
  });
};

/** The limit of the responses of all webhooks at a time, with its metrics. */
const observedBudget = (meter: Meter): AnswerBudget => {
  const budget = new AnswerBudget();
  budget.observe(meter);
  return budget;
};

/** The third stage: what reads the registry: tokens, services, webhooks, admission, aggregation and discovery. */
const readersOf = (parts: ApiServerParts, settings: Settings, registry: Registry, {signal}: AbortController) => {
  const {options, naming, clock, random, log, serverAddress, gate, metrics: meter} = parts;
  const {authorizers, proxy, admission: configuration, network, loopback, client, signer, configured} = settings;
  const reader = registryReader(registry);
  const address = externalAddress(options, serverAddress);
  const tokens = serviceAccountTokens({options, naming, clock, log, meter, reader, client, serverAddress: address, signer});
  const otherTokens = tokenAuthenticators({
    options,
    configured,
    webhook: settings.tokenWebhook,
    audiences: tokens.audiences,
    naming,
    reader,
    clock,
    random,
    log,
    meter,
    egress: settings.egress,
    gate,
    signal,
  });
  const resolve = serviceResolver({reader, random, naming, toEndpoints: options.enableAggregatorRouting, serverAddress});
  const budget = observedBudget(meter);
  const callerAs = (users: WebhookUsers | undefined): WebhookCaller => {
    const self = {calls: selfCalls(loopback.handler, serverUser, clock), is: (reference: ServiceReference) => isSelf(reference, naming)};
    const caller = webhookCaller({
      clock,
      log,
      dial: settings.egress.dial('cluster'),
      resolve,
      userAgent: naming.component('apiserver-admission'),
      budget,
      users,
      clientPair: () => proxy.pair,
      self,
    });
    signal.addEventListener('abort', () => caller.close(), {once: true});
    return caller;
  };
  const admission = admissionPlugins(options, {
    configuration,
    meter,
    signal,
    callerAs,
    registry,
    naming,
    clock,
    random,
    authorizers,
    log,
    minor: Number(parts.version.emulationMinor),
    client,
    gate,
  });
  const converting = lazily(() => ({naming, clock, random, caller: callerAs(undefined), metrics: conversionMetrics(meter, clock)}));
  const conversion = conversions(definition => webhookConversion(definition, converting()));
  const toBackends = connections({dial: dialer(network, clock), clock, log});
  const registrations = new Registrations(() => proxy.pair);
  const aggregation = aggregate({
    naming,
    registrations,
    backends: toBackends,
    resolve,
    log,
    refusesRedirects: options.aggregatorRejectForwardingRedirect,
    gate,
  });
  const peers = serverPeers({
    ...parts,
    meter,
    registry,
    registrations,
    backends: toBackends,
    proxy,
    host: parts.host ?? hostname(),
    signal,
  });
  const discovery = new Discovery(registry, address, {aggregation, peers: peers?.catalog});
  return {tokens, otherTokens, admission, conversion, backends: toBackends, registrations, aggregation, discovery, peers};
};

type Readers = ReturnType<typeof readersOf>;

/** The fourth stage: the handler of requests. */
const serverOf = (
  parts: ApiServerParts,
  settings: Settings,
  registry: Registry,
  readers: Readers,
  {largeRequests, auditor, tracer}: Pick<ApiServerSettings, 'largeRequests' | 'auditor' | 'tracer'>,
) => {
  const {options, naming, clock, log, store} = parts;
  const {authorizers, anonymous, network, client, health} = settings;
  const {tokens, otherTokens, admission, conversion, backends, aggregation, discovery, peers} = readers;
  const authenticators = [...settings.authenticators, ...tokens.authenticators, ...otherTokens.authenticators];
  const documents = lazily(() => openApi(registry, discovery, aggregation, parts.version));
  return createApiServer({
    registry,
    log,
    authenticators,
    anonymous,
    admission,
    rulesFor: authorizers.rulesFor,
    authenticateToken: tokenAuthenticator(authenticators, tokens.audiences, anonymous),
    tokens: tokens.issuer,
    requestTimeoutMs: options.requestTimeout,
    minRequestTimeoutSeconds: options.minRequestTimeout,
    ...requestLimits(options, parts.isBehindAnother),
    components: componentsOf({store, naming, clock, dial: dialer(settings.direct, clock), ...(parts.beside ? {beside: parts.beside} : {})}),
    usage: parts.usage?.(client),
    network,
    conversion,
    agents: {addresses: options.platletPreferredAddressTypes, trust: settings.agentTrust, timeoutMs: options.platletTimeout},
    connectBytesPerSecond: options.maxConnectionBytesPerSec || undefined,
    serviceRanges: {addresses: serviceRangesOf(options), ports: options.serviceNodePortRange},
    largeRequests,
    auditor,
    tracer,
    discovery,
    backends,
    aggregation,
    peers: peers?.proxy,
    routes: [
      ...openApiRoutes({documents, relayTo: registration => aggregation.relayTo(registration), clock}),
      ...versionRoutes(parts.version),
      ...tokens.routes,
      ...observationRoutes(parts, health),
      ...(options.enableLogsHandler ? logRoutes(systemLogFolder) : []),
    ],
    failed: (error, {method, url}) => log.error({method, url: url.split('?')[0], err: error}, 'a request failed by a fault of the server'),
  });
};

/** The limits of requests that are executed at the same time. */
const requestLimits = (
  {enablePriorityAndFairness, maxRequestsInflight: reading, maxMutatingRequestsInflight: mutating}: ApiserverOptions,
  isBehindAnother = false,
): Pick<ApiServerSettings, 'maxInFlight' | 'flowControl'> => {
  if (isBehindAnother) return {maxInFlight: {reading: 0, mutating: 0}};
  return enablePriorityAndFairness
    ? {maxInFlight: {reading: 0, mutating: 0}, flowControl: {seats: reading + mutating}}
    : {maxInFlight: {reading, mutating}};
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

/**
 * Composes an API server, in stages of which each uses the values of those before: what the options name (files, authorizers), the registry, what reads it
 * (tokens, services, admission, aggregation), and the handler of requests. Rejects with an error of one line that names the flag when a file it needs is
 * unusable.
 */
export const assembleApiServer = async (parts: ApiServerParts): Promise<RunningApiServer> => {
  const lifetimes: Lifetimes = {looping: new AbortController(), following: new AbortController()};
  const {looping, following} = lifetimes;
  setMaxListeners(0, following.signal, looping.signal); // As many listeners as there are files, kinds and periods.
  try {
    const encryption = await withEncryption(parts, following.signal);
    const running = await assembled(encryption.parts, lifetimes);
    for (const {name, check} of encryption.checks) running.health.add(name, check);
    return running;
  } catch (error) {
    following.abort(); // Files are followed already when a later one cannot be used.
    looping.abort();
    throw error;
  }
};

const assembled = async (parts: ApiServerParts, lifetimes: Lifetimes): Promise<RunningApiServer> => {
  const {options, clock, log, store, serverAddress, gate, metrics: meter} = parts;
  const {looping, following} = lifetimes;
  const settings = await readSettings(parts, lifetimes);
  const registry = registryOf(parts, settings);
  const readers = readersOf(parts, settings, registry, following);
  const largeRequests = parts.largeRequests?.({store, clock, log, meter, address: serverAddress, timeoutMs: options.requestTimeout});
  const audit = parts.isBehindAnother ? undefined : await openAudit(options, {...parts, network: settings.egress.network('controlplane')});
  const host = parts.host ?? hostname();
  const tracing = parts.isBehindAnother
    ? undefined
    : await openTracing({...parts, egress: settings.egress, serverId: serverIdentity(host)});
  const server = serverOf(parts, settings, registry, readers, {largeRequests, auditor: audit?.auditor, tracer: tracing?.tracer});

  const {health, authorizers, proxy, loopback, clientAs, client} = settings;
  const {registrations, aggregation, peers} = readers;
  const own = {peers, host};
  loopback.attach(server.handler);
  if (publishesStorageVersions(server, gate)) server.storedVersions.expect(storedResources(registry));
  const start = serverStart(
    {...parts, ...own, server, client, user: serverUser, health, authorizers, proxy, registrations, aggregation, meter},
    {looping: looping.signal, serving: following.signal},
  );
  const follow = async () => {
    await authorizers.rbac?.follow(registryPolicy(registry), following.signal);
    await authorizers.nodes?.follow(registry, following.signal);
    await server.custom.follow(following.signal);
    await server.flowControl?.follow(registry, following.signal);
  };
  return {
    server,
    handler: server.handler,
    health,
    metrics: meter,
    authorizesNodes: authorizers.nodes !== undefined,
    clientAs,
    follow,
    async begin() {
      maintainStore(parts, server, following.signal);
      readers.otherTokens.start();
      await follow();
      await health.run(start.hooks);
    },
    endLoops: () => looping.abort(),
    async close() {
      await start.leave();
      looping.abort();
      following.abort();
      server.endWatches();
      server.backends[Symbol.dispose]();
      await largeRequests?.close();
      await audit?.close();
      await tracing?.close();
      await store.close();
    },
  };
};

/** The emulated release, if it is not the program's own. Warns about its alpha versions. */
const releaseOf = (options: ApiserverOptions, {emulated}: Versions, log: Log): EmulatedRelease | undefined => {
  if (emulated === binaryVersion) return undefined;
  for (const api of explicitAlphas(options.runtimeConfig))
    log.warn(
      {api, emulated, binary: binaryVersion},
      "alpha API enabled with an emulated version instead of the binary's own version: this is unsupported, proceed at your own risk",
    );
  return {
    emulated,
    forwardCompatible: options.emulationForwardCompatible,
    namedForwardCompatible: options.runtimeConfigEmulationForwardCompatible,
  };
};

/** Health, metrics, profiles and z-pages. */
const observationRoutes = (parts: ApiServerParts, {healthz, livez, readyz}: ServerHealth): Route[] => {
  const {options, naming, clock, metrics, metricsBeside: beside = []} = parts;
  const resets = options.profiling;
  const routes = [
    asRoute(metricsRoute(metrics, {beside, resets})),
    asRoute(slisRoute(naming, [healthz, livez, readyz], {resets})),
    ...Object.entries({healthz, livez, readyz}).flatMap(([endpoint, checks]) => healthRoutes(endpoint, checks)),
    ...(options.profiling ? profiling(options, clock).map(route => ({...asRoute(route), hidden: true})) : []),
  ];
  // As upstream, the name differs between the two pages.
  const component = {statusz: 'apiserver', flagz: naming.component('apiserver')};
  return [...routes, ...zPages({...parts, component}, () => [...routes.map(({path}) => path), '/version']).map(asRoute)];
};

/** The profiles of this process. */
export const profiling = ({contentionProfiling}: Pick<ApiserverOptions, 'contentionProfiling'>, clock: Clock): AdministrativeRoute[] =>
  profilingRoutes({clock, argv: process.argv, contention: contentionProfiling});

const asRoute = ({path, answer}: AdministrativeRoute): Route => ({
  path,
  handler: ({request, info}) => answer({method: request.method, path: info.path, query: info.query, request}),
});

/** The resources of `--watch-cache-sizes` with size 0; other sizes have no effect. */
const uncached = (sizes: readonly string[]): ReadonlySet<string> =>
  new Set(
    sizes
      .map(entry => entry.split('#'))
      .filter(([, size]) => Number(size) === 0)
      .map(([resource = '']) => resource),
  );

/** The code that creates the documents is loaded with the first of them. */
const openApi = async (
  registry: Registry,
  discovery: Discovery,
  {openApi: remote}: Aggregation,
  version: VersionInfo,
): Promise<MergedOpenApi> => {
  const [{OpenApiDocuments}, {MergedOpenApi}, {mediaTypes}] = await Promise.all([
    import('#src/schema/openapi/documents.js'),
    import('#src/apiserver/aggregation/merged-openapi.js'),
    import('#src/schema/openapi/render.js'),
  ]);
  const {schemas, naming, clock, cbor} = registry.settings;
  const documents = new OpenApiDocuments({
    schemas,
    naming,
    clock,
    mediaTypes: mediaTypes(naming, cbor !== undefined),
    groups: () => discovery.groups,
    version: version.gitVersion,
  });
  const merged = new MergedOpenApi(documents, remote);
  registry.onChange(() => {
    documents.invalidate();
    merged.forget();
  });
  return merged;
};

/** Waits until no requests are in flight, up to a limit. */
export const drained = async ({inFlight}: ApiServer, clock: Clock, timeoutMs: number): Promise<void> => {
  const deadline = clock.monotonic() + timeoutMs;
  while (inFlight.all > 0 && clock.monotonic() < deadline) await sleep(clock, 10);
};
