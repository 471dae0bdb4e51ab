import type {ApiRequest, ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {OwnedCaches} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Labels, Meter} from '#src/base/meter.js';
import {noLog, type Log} from '#src/base/log.js';
import {own} from '#src/base/own.js';
import type {Random} from '#src/base/random.js';
import {resources} from '#src/resources/index.js';
import type {ActionContext, ResourceDefinition, TokenIssuer, VirtualContext} from '#src/resources/definition.js';
import {servedVersions, type EmulatedRelease} from '#src/resources/served-versions.js';
import {storedKindOf} from '#src/resources/stored-version.js';
import {YamlThread} from '#src/schema/decode/yaml-thread.js';
import {Schemas} from '#src/schema/schemas.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Store} from '#src/storage/store.js';
import type {Network} from '#src/transport/network.js';
import {backends, type Backends} from '#src/transport/relay/backends.js';
import type {AdmissionPlugin} from './admission/admission.js';
import {toldPlugins} from './admission/told.js';
import type {Anonymous} from '#src/serving/authenticators/union.js';
import {requestCore} from './core.js';
import type {AgentAccess} from './handlers/agent-trust.js';
import {PassageMetrics} from './handlers/passage-metrics.js';
import {AccessMetrics} from './access-metrics.js';
import {longRunningLabels, RequestMetrics} from './metrics.js';
import {createPools, type ServiceRanges} from './allocation/pools.js';
import {CustomCatalog, type CatalogParts} from './custom/catalog.js';
import type {Aggregation} from './aggregation/aggregation.js';
import {Discovery} from './discovery/handler.js';
import {Leases} from './registry/leases.js';
import {defaultSelectionBytes, SelectionCache} from './registry/selection-cache.js';
import {registryReader} from './registry/reader.js';
import {Registry} from './registry/registry.js';
import {CborForm} from './request/cbor-form.js';
import {RequestLog} from './request/request-log.js';
import type {LargeRequests} from './request/large.js';
import {InFlight, type InFlightLimits} from './request/in-flight.js';
import {IncomingBodies} from './request/incoming-bodies.js';
import {StoredVersionsBarrier} from './request/stored-versions.js';
import {LongLived} from './request/long-lived.js';
import {router, type Route} from './routes.js';
import {StorageFigures} from './storage-figures.js';
import {Bookmarks} from './watch/bookmarks.js';
import type {WatchSettings} from './watch/watch.js';

/** What a request core is made of. Everything that lives comes in from outside and is closed by who made it. */
export interface ApiServerSettings {
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Store;
  /** First part of all keys. */
  readonly prefix: string;
  gate(name: string): boolean;
  readonly allowPrivileged: boolean;
  /** Which versions are served beside, or not among, those served by default. */
  readonly runtimeConfig: ReadonlyMap<string, string>;
  /** The release to behave as, where it is not this server's own. */
  readonly release?: EmulatedRelease | undefined;
  /** The oldest release whose servers must be able to read what is stored. */
  readonly minCompatibility?: string | undefined;
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly authorizer: Authorizer;
  /** Made once the registry is there, since plugins read objects through it. In the order they are asked. */
  admission(registry: Registry): readonly AdmissionPlugin[];
  rulesFor: ActionContext['rulesFor'];
  /** What signs tokens of service accounts; without it they cannot be asked for. */
  readonly tokens?: TokenIssuer | undefined;
  authenticateToken: ActionContext['authenticateToken'];
  readonly eventTtlSeconds: number;
  readonly leaseReuseSeconds: number;
  readonly garbageCollector: boolean;
  readonly deleteCollectionWorkers: number;
  /** `--watch-cache`, and the resources whose `--watch-cache-sizes` is 0. */
  readonly watchCache: {readonly on: boolean; readonly without: ReadonlySet<string>};
  readonly requestTimeoutMs: number;
  readonly minRequestTimeoutSeconds: number;
  readonly maxInFlight: InFlightLimits;
  /** Where requests are told of, for those who ask for it. */
  readonly log?: Log;
  /** How the other components of the control plane are. */
  components: VirtualContext['components'];
  /** Where figures of use come from; without it their API is not there. */
  readonly usage?: VirtualContext['usage'];
  readonly network: Network;
  /** The way between the versions of custom objects. */
  readonly conversion: CatalogParts['conversion'];
  readonly agents: AgentAccess;
  /** Where services get their addresses and node ports. */
  readonly serviceRanges: ServiceRanges;
  /** `host:port` as discovery tells it. */
  serverAddress(): string;
  /** Health, metrics, version and the like. */
  routes(server: ApiServer): readonly Route[];
  /** The servers behind this one, which are reached over `backends`. */
  aggregation?(backends: Backends): Aggregation;
  readonly meter: Meter;
  /** Answers what would hold up everything else; without it all requests are answered by this thread. */
  readonly largeRequests?: LargeRequests | undefined;
  failed(error: unknown, request: ApiRequest): void;
}

/** An API server without its sockets: the exchange every face calls, and the registry behind it. */
export interface ApiServer {
  readonly handler: ApiHandler;
  readonly registry: Registry;
  readonly discovery: Discovery;
  /** What is defined while the server runs; served once it follows the definitions. */
  readonly custom: CustomCatalog;
  readonly authorizer: Authorizer;
  readonly inFlight: InFlight;
  readonly figures: StorageFigures;
  /** Connections to those who answer in this server's place. Closed by who closes the server. */
  readonly backends: Backends;
  readonly draining: {rejects: boolean};
  /** Holds back writes to what it expects to be told of. */
  readonly storedVersions: StoredVersionsBarrier;
  /** How many watches are open. */
  readonly watchers: number;
  /** Ends every watch and whatever else goes on for as long as somebody listens, or the oldest `most` watches. */
  endWatches(most?: number): void;
}

/** A resource less the actions that need the issuing of tokens. */
const withoutTokens = ({actions, ...definition}: ResourceDefinition): ResourceDefinition => {
  const left = Object.entries(actions ?? {}).filter(([, {needs}]) => needs !== 'tokens');
  return left.length > 0 ? {...definition, actions: Object.fromEntries(left)} : definition;
};

const selections = new OwnedCaches<SelectionCache>('selections', ({bytes}) => ({bytes, maxBytes: defaultSelectionBytes}));

export const createApiServer = (settings: ApiServerSettings): ApiServer => {
  const {naming, clock, random, store, log = noLog} = settings;
  const streams: WatchSettings['streams'] = new Set();
  const longLived = new LongLived();
  const plugins: AdmissionPlugin[] = [];
  const schemas = new Schemas();
  const cbor = settings.gate('CBORServingAndStorage') ? new CborForm(schemas, naming) : undefined;
  const there = resources.filter(({needs}) => needs !== 'usage' || settings.usage);
  const selection = new SelectionCache(settings.meter);
  selections.add(selection);
  const registry = new Registry(settings.tokens ? there : there.map(withoutTokens), {
    store,
    log,
    naming,
    schemas,
    cbor,
    yaml: new YamlThread(clock),
    clock,
    random,
    prefix: settings.prefix,
    gate: settings.gate,
    allowPrivileged: settings.allowPrivileged,
    authorizer: settings.authorizer,
    admission: plugins,
    leases: new Leases(store, clock, settings.leaseReuseSeconds),
    eventTtlSeconds: settings.eventTtlSeconds,
    garbageCollector: settings.garbageCollector,
    deleteCollectionWorkers: settings.deleteCollectionWorkers,
    isCached: ({group, resource}) => settings.watchCache.on && !settings.watchCache.without.has(group ? `${resource}.${group}` : resource),
    meter: settings.meter,
    selection,
    serves: servedVersions(settings.runtimeConfig, settings),
    storedKind: definition => storedKindOf(definition, settings.minCompatibility),
    pools: () => pools,
  });
  const figures = new StorageFigures(registry, store);
  const pools = createPools(registry, settings.serviceRanges);
  const {authorizer} = settings;
  plugins.push(...toldPlugins(settings.admission(registry), log, clock));
  const custom = new CustomCatalog({registry, conversion: settings.conversion});
  const toBackends = backends({network: settings.network, clock, log: settings.log});
  const aggregation = settings.aggregation?.(toBackends);
  const discovery = new Discovery(registry, settings.serverAddress, aggregation);
  const server: ApiServer = {
    registry,
    discovery,
    custom,
    authorizer,
    backends: toBackends,
    figures,
    inFlight: new InFlight(settings.maxInFlight),
    draining: {rejects: false},
    storedVersions: new StoredVersionsBarrier(naming),
    get watchers() {
      return streams.size;
    },
    endWatches(most = Infinity) {
      for (const stream of [...streams].slice(0, Math.max(0, most))) stream.end();
      if (most === Infinity) longLived.end();
    },
    handler: request => handler(request),
  };
  const metrics = new RequestMetrics(settings.meter, {
    inFlight: server.inFlight,
    *longRunning() {
      for (const {labels} of streams) yield labels;
      for (const info of longLived.requests) yield longRunningLabels(info);
    },
    stored: () => figures.objects(),
    isServed({group, version, resource, subresource}) {
      const definition = registry.find(group, version, resource)?.resource.definition;
      return definition !== undefined && (!subresource || Boolean(own(definition.subresources, subresource) ?? own(definition.actions, subresource) ?? own(definition.passages, subresource)));
    },
  });
  const services = {
    registry,
    authorizer,
    watch: {minRequestTimeoutSeconds: settings.minRequestTimeoutSeconds, streams, bookmarks: new Bookmarks(clock), log: log.child({component: 'watch'}), counter: (resource: Labels) => metrics.watchEvents(resource)},
    authenticateToken: settings.authenticateToken,
    rulesFor: settings.rulesFor,
    components: settings.components,
    usage: settings.usage,
    reader: registryReader(registry),
    tokens: settings.tokens,
    network: settings.network,
    backends: server.backends,
    agents: settings.agents,
    passageMetrics: new PassageMetrics(settings.meter, naming),
    largeRequests: settings.largeRequests,
  };
  const here = router(services, discovery, settings.routes(server));
  const handler = requestCore({
    naming,
    cbor,
    clock,
    random,
    authenticators: settings.authenticators,
    anonymous: settings.anonymous,
    authorizer,
    access: new AccessMetrics(settings.meter, clock, naming),
    requestTimeoutMs: settings.requestTimeoutMs,
    inFlight: server.inFlight,
    bodies: new IncomingBodies(settings.meter),
    longLived,
    draining: server.draining,
    route: aggregation ? info => aggregation.handler(info) ?? here(info) : here,
    finished: (request, info, response, times) => metrics.finished(request, info, response, (clock.monotonic() - times.startedAt) / 1000, times),
    ...(settings.log ? {log: new RequestLog(settings.log, clock)} : {}),
    failed: settings.failed,
    holdBack: (info, user) => server.storedVersions.check(info, user),
  });
  return server;
};
