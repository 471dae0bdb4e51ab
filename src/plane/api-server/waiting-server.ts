import type {ApiResponse, ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import {serviceUnavailable} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {lazily} from '#src/base/lazily.js';
import {noLog, type Log} from '#src/base/log.js';
import {aborted} from '#src/base/signals.js';
import {HealthChecks} from '#src/observe/health.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {administration} from '#src/serving/administration/handler.js';
import {healthRoutes} from '#src/serving/administration/health.js';
import {anonymousOf, authenticatorsOf} from './authentication/authentication.js';
import {configuredJwt} from './authentication/configured-jwt.js';

export interface WaitingServerParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  gate(name: string): boolean;
}

/** The handler of requests until the server is assembled. */
export interface WaitingServer {
  readonly handler: ApiHandler;
  /** Records why the store is not available yet. */
  report(reason: string): void;
  /** Stops following files. */
  close(): void;
}

/**
 * Handles requests while the server waits for its store: the health endpoints fail with the reason (`/readyz/etcd`),
 * for users who may read them later, too; everything else is refused with 503. Service account tokens cannot be
 * verified without a store.
 */
export const waitingServer = ({options, naming, clock, log, gate}: WaitingServerParts): WaitingServer => {
  const following = new AbortController();
  let current = 'the store is not open yet';
  const checks = new HealthChecks(log);
  checks.add('ping', () => {});
  checks.add('log', () => {});
  checks.add(naming.store, () => {
    throw new Error(current);
  });
  // Files are read with the first request: mostly there is none.
  const health = lazily(async () =>
    administration({
      routes: healthRoutes({healthz: checks, livez: checks, readyz: checks}),
      authenticators: await authenticatorsOf(options, {clock, log, naming, gate, files: systemFiles, signal: following.signal}),
      anonymous: anonymousOf(options, noLog, (await configuredJwt({options, naming, gate}))?.anonymous), // The server itself logs the warnings.
      authorizer: {authorize: () => ({decision: 'allow'})},
      failed: error => log.error({err: error}, 'answering a health check failed'),
    }),
  );
  return {
    handler: async request => (/^\/(healthz|livez|readyz)(\/|\?|$)/.test(request.url) ? (await health())(request) : unavailable()),
    report(reason) {
      current = reason;
    },
    close: () => following.abort(aborted),
  };
};

const unavailable = (): ApiResponse => {
  const {status} = serviceUnavailable('the server is waiting for its storage backend');
  return {
    status: 503,
    headers: {'Cache-Control': 'no-cache, private', 'Retry-After': '1'},
    body: {kind: 'bytes', bytes: `${JSON.stringify(status)}\n`, contentType: 'application/json'},
  };
};
