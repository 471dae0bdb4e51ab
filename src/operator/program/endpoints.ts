import {setMaxListeners} from 'node:events';
import type {ApiHandler} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import {administration, openAdministration} from '#src/serving/administration/handler.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {metricsRoute} from '#src/serving/administration/metrics.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import type {AdministrativeRoute} from '#src/serving/administration/route.js';
import {tokenReviewAuthenticator} from '#src/serving/authenticators/token-review.js';
import {accessReviewAuthorizer} from '#src/serving/authorizers/access-review.js';
import type {Delegate} from '#src/serving/delegation.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen, type RequestHandler} from '#src/serving/listener.js';
import {listenPlain, parseBindAddress} from '#src/serving/plain-listener.js';
import type {ProgramOptions} from './flags.js';
import {metricsCertificate} from './metrics-certificate.js';

export interface EndpointParts {
  readonly options: Pick<
    ProgramOptions,
    | 'metricsBindAddress'
    | 'metricsSecure'
    | 'metricsCertPath'
    | 'metricsCertName'
    | 'metricsCertKey'
    | 'healthProbeBindAddress'
    | 'pprofBindAddress'
  >;
  readonly health: HealthChecks;
  readonly readiness: HealthChecks;
  readonly metrics: MetricsRegistry;
  /** The API server that reviews the tokens and the access of scrapers. */
  readonly reviewer: Delegate;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** An address and what is served there. */
interface Endpoint {
  readonly address: {readonly bindAddress: string; readonly port: number} | undefined;
  readonly flag: string;
  readonly routes: readonly AdministrativeRoute[];
  readonly isSecure?: boolean;
}

/** The open ports, by their first flag. */
export interface Endpoints extends AsyncDisposable {
  readonly ports: Readonly<Record<string, number>>;
}

/** How long results are kept, as controller-runtime keeps them. */
const tokenTtlMs = 60_000;
const allowedTtlMs = 300_000;
const deniedTtlMs = 30_000;

/** Enough for scrapers. */
const maxConnections = 256;
const maxHeaderBytes = 64 * 1024;

/**
 * Opens the ports of probes, metrics and profiles. Endpoints with the same address share one port, except secured ones.
 * Rejects with a one-line error that names the flag.
 */
export const openEndpoints = async (parts: EndpointParts): Promise<Endpoints> => {
  const {log} = parts;
  const ending = new AbortController();
  setMaxListeners(0, ending.signal);
  const open: {readonly port: number; close(): Promise<void>}[] = [];
  const close = async () => {
    ending.abort();
    await Promise.all(open.map(listener => listener.close()));
  };
  const ports: Record<string, number> = {};
  try {
    for (const group of groupsOf(endpointsOf(parts))) {
      const [{address, isSecure = false}] = group;
      if (!address) continue; // Disabled by the flag.
      const flags = group.map(({flag}) => flag);
      const opening = {...address, routes: group.flatMap(({routes}) => routes), flags: flags.join(', ')};
      const listener = await (isSecure ? openSecure(parts, opening, ending.signal) : openPlain(parts, opening));
      open.push(listener);
      ports[flags[0]!] = listener.port;
      log.info({address: listener.address, port: listener.port, flags}, isSecure ? 'serving metrics over HTTPS' : served(group));
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {ports, [Symbol.asyncDispose]: close};
};

const endpointsOf = ({options, health, readiness, metrics, clock}: EndpointParts): readonly Endpoint[] => {
  const profiled = parseBindAddress(options.pprofBindAddress);
  return [
    {
      address: parseBindAddress(options.healthProbeBindAddress),
      flag: '--health-probe-bind-address',
      routes: healthRoutes({healthz: health, livez: health, readyz: readiness}),
    },
    {
      address: parseBindAddress(options.metricsBindAddress),
      flag: '--metrics-bind-address',
      routes: [metricsRoute(metrics, {resets: false})],
      isSecure: options.metricsSecure,
    },
    {
      // Profiles show what is in memory: without a host they are for this machine alone.
      address: profiled && {...profiled, bindAddress: profiled.bindAddress || '127.0.0.1'},
      flag: '--pprof-bind-address',
      routes: profilingRoutes({clock, argv: process.argv}),
    },
  ];
};

const served = (group: readonly Endpoint[]): string =>
  group.some(({flag}) => flag === '--pprof-bind-address') ? 'serving profiles' : 'serving health and metrics';

/** Returns the endpoints by their ports. */
const groupsOf = (endpoints: readonly Endpoint[]): readonly (readonly [Endpoint, ...Endpoint[]])[] => {
  const groups = new Map<string, [Endpoint, ...Endpoint[]]>();
  for (const endpoint of endpoints) {
    const {address, isSecure = false} = endpoint;
    const key = `${address?.bindAddress} ${address?.port} ${isSecure}`;
    const known = groups.get(key);
    if (known) known.push(endpoint);
    else groups.set(key, [endpoint]);
  }
  return [...groups.values()];
};

interface Opening {
  readonly bindAddress: string;
  readonly port: number;
  readonly routes: readonly AdministrativeRoute[];
  readonly flags: string;
}

const openPlain = (parts: EndpointParts, {routes, ...where}: Opening) =>
  listenPlain({...where, handler: serverOf(parts, openAdministration(routes, failure(parts)))});

/**
 * Opens a port with TLS. Only bearer tokens are credentials: the server reviews them, and whether their user may get
 * the path.
 */
const openSecure = async (parts: EndpointParts, {routes, ...where}: Opening, signal: AbortSignal) => {
  const {reviewer, clock} = parts;
  const certificate = await metricsCertificate(parts);
  const handler = administration({
    routes,
    authenticators: [tokenReviewAuthenticator(reviewer, {...parts, cacheTtlMs: tokenTtlMs})],
    anonymous: undefined,
    authorizer: accessReviewAuthorizer(reviewer, {...parts, allowedTtlMs, deniedTtlMs}),
    failed: failure(parts),
  });
  const listener = await listen({...where, clock, tls: certificate.tls, handler: serverOf(parts, handler), maxConnections, maxHeaderBytes});
  certificate.follow(signal, tls => listener.setSecureContext(tls));
  return listener;
};

const failure =
  ({log}: EndpointParts) =>
  (error: unknown): void =>
    log.error({err: error}, 'failed to answer a request for health, metrics or profiles');

const serverOf = (parts: EndpointParts, handler: ApiHandler): RequestHandler =>
  createHttpServer(handler, {clock: parts.clock, random: parts.random, onFault: failure(parts)});
