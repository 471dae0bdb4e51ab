import type {UserInfo} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import type {ServiceAddress} from '#src/apiserver/backends/service-resolver.js';
import type {TargetTls} from '#src/transport/dial.js';
import type {Connections} from '#src/transport/http1/connections.js';
import {relayCall} from '#src/transport/relay/call.js';
import {endpoint} from '#src/transport/network.js';
import type {Readable} from 'node:stream';
import {identityHeaders} from './identity.js';

/** A request of this server's own to an aggregated server. */
export interface RemoteRequest {
  readonly at: ServiceAddress;
  readonly tls: TargetTls;
  readonly path: string;
  readonly user: UserInfo;
  readonly headers: Readonly<Record<string, string>>;
  /** The limit for the whole response. */
  readonly timeoutMs: number;
  /** The size limit of the response, 64 MiB by default. */
  readonly maxBytes?: number;
}

export interface RemoteResponse {
  readonly status: number;
  /** By its name in lower case. */
  header(name: string): string | undefined;
  readonly body: Buffer;
}

const usualMaxBytes = 64 << 20;

const readAll = async (source: Readable, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of source as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/**
 * Sends a request to an aggregated server, over the connections that clients' requests use too. Rejects with the reason
 * of a failure.
 */
export const requestRemote = async (
  backends: Connections,
  {at, tls, path, user, headers, timeoutMs, maxBytes = usualMaxBytes}: RemoteRequest,
): Promise<RemoteResponse> => {
  using _ = backends.clock.hold();
  const timeout = new AbortController();
  using _timer = backends.clock.schedule(timeoutMs, () => timeout.abort());
  try {
    const {
      status,
      headers: answered,
      body,
    } = await relayCall(backends, {
      request: {method: 'GET', url: path, headers, caller: {user}, remoteAddress: '', signal: timeout.signal},
      to: {scheme: 'https', host: at.host, port: String(at.port), tls},
      path,
      host: endpoint(at.host, at.port),
      headers: {...identityHeaders(user, false), 'x-forwarded-for': undefined},
    });
    const named = new Map(Object.entries(answered).map(([name, value]) => [name.toLowerCase(), String(value)]));
    return {status, header: name => named.get(name), body: body.kind === 'stream' ? await readAll(body.source, maxBytes) : Buffer.alloc(0)};
  } catch (error) {
    if (timeout.signal.aborted)
      throw new Error('context deadline exceeded (Client.Timeout exceeded while awaiting headers)', {cause: error});
    throw new Error(messageOf(error), {cause: error});
  }
};
