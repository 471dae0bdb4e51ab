// The SPDY upgrade of a node agent's exec, attach and port-forward: negotiates the protocol and hands over the session.

import type {Duplex} from 'node:stream';
import {AgentError} from '#src/api/node/agent.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {spdy} from '#src/serving/streams/protocols.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import {closeIdle, type StreamLimits} from './idle.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';

const versionHeader = 'x-stream-protocol-version';

/**
 * Returns the first protocol offered by the client that has one of these names, in either naming; the last of them if
 * it offers none. Throws if the client does not request SPDY, or offers only others.
 */
export const spdyVersion = ({upgradable, headers}: ApiRequest, names: readonly string[]): string => {
  if (!upgradable || String(headers['upgrade'] ?? '').toLowerCase() !== spdy.toLowerCase())
    throw new AgentError(400, 'unable to upgrade: missing upgrade headers in request');
  const offered = [headers[versionHeader] ?? []]
    .flat()
    .flatMap(text => text.split(','))
    .map(text => text.trim());
  if (offered.length === 0) return '';
  const found = offered.find(protocol => names.some(name => knownApiSuffixes.some(suffix => protocol === `${name}.${suffix}`)));
  if (found === undefined)
    throw new AgentError(
      403,
      `unable to upgrade: unable to negotiate protocol: client supports ${JSON.stringify(offered)}, server accepts ${JSON.stringify(names)}`,
    );
  return found;
};

/** A SPDY session before the roles of its streams are known. */
export interface Accepted {
  onStream(take: (stream: SpdyStream) => void): void;
  readonly closed: Promise<unknown>;
  close(): void;
}

/** Upgrades the connection to SPDY and passes on the session, which is closed when it is idle for too long. */
export const acceptedSpdy = (version: string, limits: StreamLimits, serve: (session: Accepted) => void): ApiResponse => ({
  status: 101,
  headers: {},
  body: {
    kind: 'upgrade',
    drop: () => {},
    take(socket: Duplex, head: Buffer, accountBuffer) {
      const lines = [
        'HTTP/1.1 101 Switching Protocols',
        'Connection: Upgrade',
        `Upgrade: ${spdy}`,
        ...(version ? [`X-Stream-Protocol-Version: ${version}`] : []),
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      let takes: (stream: SpdyStream) => void = stream => stream.destroy();
      const session = new SpdySession(socket, {side: 'server', head, onStream: stream => takes(stream)});
      accountBuffer?.(() => session.keptBytes);
      const idle = closeIdle(
        limits,
        () => session.moved,
        () => socket.destroy(),
      );
      void session.closed.then(() => idle[Symbol.dispose]());
      serve({
        onStream(take) {
          takes = take;
        },
        closed: session.closed,
        close: () => session.close(),
      });
    },
  },
});

/** The time limit for a client to open its streams. */
const streamTimeoutMs = 30_000;

/**
 * Waits for streams of these kinds. Rejects when they do not arrive in time, or the client disconnects. Other streams
 * are drained.
 */
export const waitForStreams = (session: Accepted, kinds: readonly string[], clock: Clock): Promise<ReadonlyMap<string, SpdyStream>> =>
  new Promise((resolve, reject) => {
    const streams = new Map<string, SpdyStream>();
    const timer = clock.schedule(streamTimeoutMs, () => reject(new Error('timed out waiting for client to create streams')));
    void session.closed.then(() => {
      timer[Symbol.dispose]();
      reject(new Error('the client left'));
    });
    session.onStream(stream => {
      const [kind = ''] = stream.headers['streamtype'] ?? [];
      if (!kinds.includes(kind) || streams.has(kind)) return void stream.resume();
      streams.set(kind, stream);
      if (streams.size < kinds.length) return;
      timer[Symbol.dispose]();
      resolve(streams);
    });
  });
