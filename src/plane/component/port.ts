import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {Verbosity} from '#src/observe/verbosity.js';
import type {serving} from '#src/options/controller-manager/serving.js';
import type {OptionsOf} from '#src/options/flag.js';
import type {DebugPages} from '#src/runtime/controller.js';
import {administration} from '#src/serving/administration/handler.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {metricsRoute, slisRoute} from '#src/serving/administration/metrics.js';
import {configzRoute, verbosityRoute} from '#src/serving/administration/plain.js';
import {profilingRoutes} from '#src/serving/administration/profiling.js';
import {type AdministrativeRoute, notFoundPage, text} from '#src/serving/administration/route.js';
import {componentCertificates} from './serving-certificates.js';
import {zPages} from './zpages.js';
import type {Delegate} from '#src/serving/delegation.js';
import {delegatedSecurity} from '#src/serving/delegated/delegated-security.js';
import {Deliveries} from '#src/serving/deliveries.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen} from '#src/serving/listener.js';
import {limitedByPeer} from '#src/serving/limits/peer-limit.js';

/** The options of the port of a component other than the API server. */
export type PortOptions = OptionsOf<typeof serving>;

export interface PortParts {
  /** The program's name in files. */
  readonly program: string;
  readonly options: PortOptions;
  /** The component's name on its pages. */
  readonly component: string;
  readonly version: VersionInfo;
  /** The effective flags. */
  flags(): Readonly<Record<string, string>>;
  /** The effective configuration. */
  configuration(): Readonly<Record<string, unknown>>;
  readonly naming: Naming;
  /** The API servers that review tokens, provide CAs, and review access; absent ones are not consulted. */
  readonly authentication: Delegate | undefined;
  readonly authorization: Delegate | undefined;
  readonly checks: HealthChecks;
  readonly metrics: MetricsRegistry;
  /** The debug pages of the running controllers. */
  readonly debugPages: ReadonlyMap<string, DebugPages>;
  /** The log verbosity, if it can be changed. */
  readonly verbosity: Verbosity | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly signal: AbortSignal;
  gate(name: string): boolean;
}

/** A component's own HTTPS port. */
export interface AdministrativePort {
  readonly address: string;
  readonly port: number;
  close(): Promise<void>;
}

/** The port is for probes, scrapers and debugging. */
const maxConnections = 256;
const maxHeaderBytes = 128 << 10;
/** The most bytes of all answers that are not read; metrics have a few megabytes. */
const waitingBytes = 64 << 20;
/** The most requests of one address that wait, as for a review of their tokens or access. */
const maxWaitingOfPeer = 100;

/**
 * Opens the port with health, metrics, configuration and profiles; requests are authenticated and authorized by the API
 * server that the flags name.
 */
export const openPort = async (parts: PortParts): Promise<AdministrativePort> => {
  const {options, naming, clock, random, log, signal} = parts;
  const security = await delegatedSecurity({
    flags: options,
    authentication: parts.authentication,
    authorization: parts.authorization,
    naming,
    clock,
    random,
    files: systemFiles,
    log,
    signal,
    withUid: parts.gate('AllowParsingUserUIDFromCertAuth'),
  });
  const closesUnauthenticated = parts.gate('UnauthenticatedHTTP2DOSMitigation');
  const failed = (error: unknown) => log.error({err: error}, 'answering a request on the secure port failed');
  const certificates = await componentCertificates({options, naming, name: parts.program, clock, log, signal});
  const listener = await listen({
    clock,
    bindAddress: options.bindAddress,
    port: options.securePort,
    tls: certificates.tlsOptions,
    handler: createHttpServer(
      limitedByPeer(administration({...security, closesUnauthenticated, routes: routesOf(parts), failed}), maxWaitingOfPeer),
      {
        clock,
        random,
        deliveries: new Deliveries(clock, waitingBytes),
        onFault: failed,
      },
    ),
    maxConnections,
    maxHeaderBytes,
    disableHttp2: options.disableHttp2Serving,
    maxStreamsPerConnection: options.http2MaxStreamsPerConnection,
    permitAddressSharing: options.permitAddressSharing,
    permitPortSharing: options.permitPortSharing,
  });
  certificates.follow(signal, context => listener.setSecureContext(context));
  return {address: listener.address, port: listener.port, close: () => listener.close({graceMs: 0})};
};

const routesOf = (parts: PortParts): AdministrativeRoute[] => {
  const {options, configuration, naming, checks, metrics, debugPages, verbosity, clock} = parts;
  const routes = [
    ...healthRoutes({healthz: checks, livez: checks, readyz: checks}),
    metricsRoute(metrics, {resets: true}),
    slisRoute(naming, [checks], {resets: true}),
    configzRoute(configuration),
    debugRoute(debugPages),
    ...(options.profiling
      ? [
          ...profilingRoutes({clock, argv: process.argv, contention: options.contentionProfiling}),
          ...(verbosity ? [verbosityRoute(verbosity)] : []),
        ]
      : []),
  ];
  return [...routes, ...zPages(parts, () => routes.map(({path}) => path))];
};

const debugRoot = '/debug/controllers/';

/** The debug pages of controllers, each below its name. */
const debugRoute = (pages: ReadonlyMap<string, DebugPages>): AdministrativeRoute => ({
  path: `${debugRoot}*`,
  answer({path, query}) {
    const [, name = '', below = ''] = /^([^/]*)([^]*)$/.exec(path.slice(debugRoot.length)) ?? [];
    const page = pages.get(name)?.(below, query);
    return page ? text(page.body, 200, page.contentType) : notFoundPage();
  },
});
