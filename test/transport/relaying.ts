import type {ApiResponse} from '#src/api/request.js';
import {plainFailure} from '#src/api/status.js';
import {systemClock} from '#src/base/clock.js';
import {systemNetwork} from '#src/transport/network.js';
import {dialer, type Target} from '#src/transport/dial.js';
import {connections} from '#src/transport/http1/connections.js';
import {relayCall, type RelayRequest} from '#src/transport/relay/call.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import {answering, json, serve} from '#test/serving/server.js';
import type {TestBackend} from './backend.js';

export const pool = connections({dial: dialer(systemNetwork(systemClock), systemClock), clock: systemClock});
export const to = ({port, ca}: TestBackend, more: Partial<Target> = {}): Target => ({
  scheme: ca ? 'https' : 'http',
  host: '127.0.0.1',
  port,
  ...(ca ? {tls: {ca}} : {}),
  ...more,
});

/** A server that passes every request on to a backend, at the same path. */
export const relaying = (backend: TestBackend, more: Partial<RelayRequest> = {}, seen: ApiResponse[] = []) =>
  serve(
    answering(async request => {
      const relayed = {request, to: to(backend), path: request.url, ...more};
      try {
        const answer = await (request.upgradable ? relayUpgrade : relayCall)(pool, relayed);
        seen.push(answer);
        return answer;
      } catch (error) {
        return json(plainFailure((error as Error).message).status, 500);
      }
    }),
  );

export const messageOf = (body: Buffer): string => (JSON.parse(body.toString()) as {message: string}).message;
