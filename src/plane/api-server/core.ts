// The fourth stage of an API server: the request core, which handles the requests of all listeners.

import {openApiRoutes} from '#src/apiserver/handlers/openapi.js';
import {logRoutes, systemLogFolder} from '#src/apiserver/handlers/logs.js';
import {versionRoutes} from '#src/apiserver/handlers/version.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {createApiServer, type ApiServer, type ApiServerSettings} from '#src/apiserver/server.js';
import {lazily} from '#src/base/lazily.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {dialer} from '#src/transport/dial.js';
import {serviceRangesOf} from './addresses.js';
import {tokenAuthenticator} from './authentication/authentication.js';
import {componentsOf} from './components.js';
import {observationRoutes, recorderRoutes} from './observation.js';
import {openApiDocuments} from './openapi-documents.js';
import type {ApiServerParts} from './parts.js';
import type {Readers} from './readers.js';
import type {Settings} from './settings.js';

/** Creates the request core, with all paths that the server serves. */
export const coreOf = (
  parts: ApiServerParts,
  settings: Settings,
  registry: Registry,
  readers: Readers,
  {largeRequests, auditor, tracer}: Pick<ApiServerSettings, 'largeRequests' | 'auditor' | 'tracer'>,
): ApiServer => {
  const {options, naming, clock, log, store} = parts;
  const {authorizers, anonymous, network, client, health} = settings;
  const {tokens, otherTokens, admission, conversion, backends, aggregation, discovery, peers} = readers;
  const authenticators = [...settings.authenticators, ...tokens.authenticators, ...otherTokens.authenticators];
  const documents = lazily(() => openApiDocuments(registry, discovery, aggregation, parts.version));
  return createApiServer({
    registry,
    log,
    authenticators,
    anonymous,
    closesUnauthenticated: parts.gate('UnauthenticatedHTTP2DOSMitigation'),
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
      ...recorderRoutes(parts, registry),
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
