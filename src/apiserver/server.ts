// Composes an API server from its registry and settings: request core, router, catalog of custom resources, discovery.
// It opens no socket and closes nothing that was passed in; src/plane adds listeners and lifetimes.

import type {ApiRequest, ApiHandler} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {Labels} from '#src/base/meter.js';
import type {Tracer} from '#src/observe/tracer.js';
import {noLog} from '#src/base/log.js';
import type {ActionContext, TokenIssuer, VirtualContext} from '#src/resources/definition.js';
import type {Authenticator} from '#src/api/authentication.js';
import type {Authorizer} from '#src/api/authorization.js';
import type {Network} from '#src/transport/network.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {AdmissionPlugin} from './admission/admission.js';
import type {Auditor} from './audit/auditor.js';
import {AdmissionChain} from './admission/chain.js';
import type {Anonymous} from '#src/serving/authenticators/union.js';
import {buildHandlerChain, type Routing} from './chain.js';
import type {AgentAccess} from './handlers/agent-trust.js';
import type {ResourceServices} from './handlers/resource.js';
import {ConnectMetrics} from './handlers/connect-metrics.js';
import {ConstrainedImpersonation} from './authentication/constrained-impersonation.js';
import {PlainImpersonation, type Impersonation} from './authentication/impersonation.js';
import {AccessMetrics} from './filters/access-metrics.js';
import type {Authentication} from './filters/authentication.js';
import {RequestLog} from './filters/log.js';
import {BodySizes} from './filters/metrics.js';
import {longRunningLabels, RequestMetrics} from './request/metrics.js';
import {createPools, type ServiceRanges} from './allocation/pools.js';
import {CustomCatalog, type CatalogParts} from './custom/catalog.js';
import type {Aggregation} from './aggregation/aggregation.js';
import type {PeerProxy} from './peers/proxy.js';
import type {Discovery} from './discovery/handler.js';
import {dumpRoutes} from './handlers/flow-control-dumps.js';
import type {FlowControl} from './flowcontrol/flow-control.js';
import {limitsOf, type Limits, type LimitSettings} from './flowcontrol/limits.js';
import {WatchCounts} from './flowcontrol/watch-counts.js';
import {registryReader} from './registry/read/reader.js';
import type {Registry} from './registry/registry.js';
import {Interceptors} from './request/interceptors.js';
import type {LargeRequests} from './request/large.js';
import type {InFlight} from './flowcontrol/in-flight.js';
import {incomingBodies} from './request/incoming-bodies.js';
import {StoredVersionsBarrier} from './registry/stored-versions.js';
import {LongRunningResponses} from './request/long-running.js';
import {type Route} from './handlers/route.js';
import {router} from './routes.js';
import {StorageMetrics} from './storage-metrics.js';
import {Bookmarks} from './watch/bookmarks.js';
import type {WatchSettings} from './watch/request.js';

/** The settings of a server besides its registry. Everything with a lifetime is passed in and closed by its owner. */
export interface ApiServerSettings extends LimitSettings {
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: Anonymous | undefined;
  readonly closesUnauthenticated?: Authentication['closesUnauthenticated'];
  readonly admission: readonly AdmissionPlugin[];
  rulesFor: ActionContext['rulesFor'];
  /** Signs tokens of service accounts; without it they cannot be requested. */
  readonly tokens?: TokenIssuer | undefined;
  authenticateToken: ActionContext['authenticateToken'];
  readonly minRequestTimeoutSeconds: number;
  /** Returns the health of the other components of the control plane. */
  components: VirtualContext['components'];
  /** The source of the metrics API's values; without it that API is not served. */
  readonly usage?: VirtualContext['usage'];
  readonly network: Network;
  /** Converts custom objects between the versions of their definitions. */
  readonly conversion: CatalogParts['conversion'];
  readonly agents: AgentAccess;
  /** The limit of each upgraded connection to a pod, node or service, in each direction; without it none. */
  readonly connectBytesPerSecond?: number | undefined;
  /** The ranges of service addresses and node ports. */
  readonly serviceRanges: ServiceRanges;
  readonly discovery: Discovery;
  /** Health, metrics, version and other routes. */
  readonly routes: readonly Route[];
  /** The connections to the servers behind this one. */
  readonly backends: Connections;
  readonly aggregation?: Aggregation | undefined;
  /** Passes requests for resources that only other servers serve to one of them. */
  readonly peers?: PeerProxy | undefined;
  /** Handles large requests in another thread; without it this thread handles all. */
  readonly largeRequests?: LargeRequests | undefined;
  /** Creates the spans of requests; without it none are. */
  readonly tracer?: Tracer | undefined;
  /** Records requests in the audit log; without it none are. */
  readonly auditor?: Auditor | undefined;
  failed(error: unknown, request: ApiRequest): void;
}

/** An API server without its sockets: the handler that every HTTP server calls, and the registry behind it. */
export interface ApiServer {
  readonly handler: ApiHandler;
  readonly registry: Registry;
  readonly discovery: Discovery;
  /** The custom resources; served once the catalog follows the definitions. */
  readonly custom: CustomCatalog;
  readonly authorizer: Authorizer;
  readonly inFlight: InFlight;
  readonly flowControl: FlowControl | undefined;
  readonly storageMetrics: StorageMetrics;
  /** The connections to the servers behind this one. Closed by the server's owner. */
  readonly backends: Connections;
  readonly draining: {rejects: boolean};
  readonly interceptors: Interceptors;
  /** Refuses writes to resources whose storage version is not published yet. */
  readonly storedVersions: StoredVersionsBarrier;
  /** The number of open watches. */
  readonly watchers: number;
  /** Ends all watches and other long-running responses, or the oldest `most` watches. */
  endWatches(most?: number): void;
}

/** What the handlers of resources work with. */
const resourceServices = (settings: ApiServerSettings, watch: WatchSettings): ResourceServices => {
  const {registry} = settings;
  const {authorizer, meter, naming} = registry.settings;
  return {
    registry,
    authorizer,
    watch,
    authenticateToken: settings.authenticateToken,
    rulesFor: settings.rulesFor,
    components: settings.components,
    usage: settings.usage,
    reader: registryReader(registry),
    tokens: settings.tokens,
    network: settings.network,
    backends: settings.backends,
    agents: settings.agents,
    connectBytesPerSecond: settings.connectBytesPerSecond,
    connectMetrics: new ConnectMetrics(meter, naming),
    deprecatedRequests: meter.gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: 'Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.',
      labels: ['group', 'version', 'resource', 'subresource', 'removed_release'],
    }),
    largeRequests: settings.largeRequests,
  };
};

/** Returns a function that formats a time of the monotonic clock. */
const wallTime =
  (clock: Clock) =>
  (monotonic: number): string =>
    new Date(clock.now() - (clock.monotonic() - monotonic)).toISOString();

const dumpsOf = ({flowControl}: Pick<ApiServer, 'flowControl'>, clock: Clock): Route[] =>
  flowControl ? dumpRoutes(flowControl, wallTime(clock)) : [];

const impersonationOf = ({settings: {authorizer, naming, gate}}: Registry): Impersonation =>
  gate('ConstrainedImpersonation') ? new ConstrainedImpersonation(authorizer, naming) : new PlainImpersonation(authorizer, naming);

/** The metrics of requests, with the watches and long responses that are open when they are scraped. */
const requestMetrics = (registry: Registry, open: OpenResponses, storageMetrics: StorageMetrics): RequestMetrics =>
  new RequestMetrics(registry.settings.meter, {
    *longRunning() {
      for (const {labels} of open.streams) yield labels;
      for (const info of open.longLived.requests) yield longRunningLabels(info);
    },
    stored: () => storageMetrics.objects(),
    served: registry,
  });

/**
 * Routes requests to the handlers of this server. The way past interceptors and to other servers is built when these
 * come or go: requests do not pass where there are none.
 */
const routingOf = ({aggregation, peers}: ApiServerSettings, here: Routing['find'], interceptors: Interceptors): Routing => {
  const routing: Routing = {find: here};
  const choose = (): void => {
    const relays = aggregation?.registrations.hasRemote ? aggregation : undefined;
    const route: Routing['find'] = relays || peers ? info => relays?.handler(info) ?? peers?.handler(info, here) ?? here(info) : here;
    routing.find = interceptors.isEmpty ? route : info => interceptors.around(info, route(info));
  };
  aggregation?.registrations.onChange(choose);
  interceptors.onChange(choose);
  choose();
  return routing;
};

/** The responses that stay open, and the watches among them. */
class OpenResponses {
  readonly streams: WatchSettings['streams'] = new Set();
  readonly longLived = new LongRunningResponses();

  /** Ends all watches and other long-running responses, or the oldest `most` watches. */
  end(most: number): void {
    for (const stream of [...this.streams].slice(0, Math.max(0, most))) stream.end();
    if (most === Infinity) this.longLived.end();
  }
}

/** What requests pass, and what their owners may look at and switch. */
interface Serving {
  readonly open: OpenResponses;
  readonly storageMetrics: StorageMetrics;
  readonly limits: Limits;
  readonly watches: WatchCounts;
  readonly draining: {rejects: boolean};
  readonly interceptors: Interceptors;
  readonly storedVersions: StoredVersionsBarrier;
}

/** Creates the handler of all requests: the chain, and behind it the routes. */
const handlerOf = (settings: ApiServerSettings, serving: Serving): ApiHandler => {
  const {registry, discovery, log = noLog} = settings;
  const {naming, clock, random, authorizer, meter, cbor} = registry.settings;
  const {open, watches, limits, interceptors, storedVersions} = serving;
  const requests = requestMetrics(registry, open, serving.storageMetrics);
  const services = resourceServices(settings, {
    minRequestTimeoutSeconds: settings.minRequestTimeoutSeconds,
    streams: open.streams,
    watches,
    bookmarks: new Bookmarks(clock),
    log: log.child({component: 'watch'}),
    counter: (resource: Labels) => requests.watchEvents(resource),
  });
  const here = router(services, discovery, [...settings.routes, ...dumpsOf(limits, clock)]);
  return buildHandlerChain({
    clock,
    random,
    encodings: {naming, cbor},
    authentication: {
      authenticators: settings.authenticators,
      anonymous: settings.anonymous,
      closesUnauthenticated: settings.closesUnauthenticated,
    },
    authorizer,
    impersonation: impersonationOf(registry),
    access: new AccessMetrics(meter, clock, naming),
    metrics: {requests, bodySizes: new BodySizes(meter, registry)},
    requestTimeoutMs: settings.requestTimeoutMs,
    limits: {...limits, bodies: incomingBodies(meter)},
    longRunning: open.longLived,
    draining: serving.draining,
    routing: routingOf(settings, here, interceptors),
    storedVersions,
    auditor: settings.auditor,
    tracer: settings.tracer,
    log: settings.log && new RequestLog(settings.log, clock),
    failed: settings.failed,
  });
};

/** Creates a server over a registry, which accepts writes from then on. */
export const createApiServer = (settings: ApiServerSettings): ApiServer => {
  const {registry, discovery, log = noLog} = settings;
  const {naming, clock, store, authorizer, meter, recorder} = registry.settings;
  const open = new OpenResponses();
  const storageMetrics = new StorageMetrics(registry, store);
  registry.settings.writes.start({
    admission: new AdmissionChain(settings.admission, {clock, meter, log, recorder}),
    pools: createPools(registry, settings.serviceRanges),
  });
  const custom = new CustomCatalog({registry, conversion: settings.conversion});
  const watches = new WatchCounts();
  const limits = limitsOf(settings, watches);
  const draining = {rejects: false};
  const interceptors = new Interceptors(clock);
  const storedVersions = new StoredVersionsBarrier(naming);
  const handler = handlerOf(settings, {open, storageMetrics, limits, watches, draining, interceptors, storedVersions});
  return {
    handler,
    registry,
    discovery,
    custom,
    authorizer,
    backends: settings.backends,
    storageMetrics,
    ...limits,
    draining,
    interceptors,
    storedVersions,
    get watchers() {
      return open.streams.size;
    },
    endWatches: (most = Infinity) => open.end(most),
  };
};
