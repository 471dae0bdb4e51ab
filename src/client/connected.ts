// Creates the clients of a component over a connection: rate limits, retries, metrics, encoding, and the detection of
// the naming.

import {type Naming, naming, namingOfMediaType} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {HttpConnection} from '#src/transport/client/http-connection.js';
import type {Caller} from './caller.js';
import type {Client} from './client.js';
import type {ClientContent} from './content.js';
import {checkNaming, detectNaming} from './detect-naming.js';
import {httpsCaller} from './https.js';
import {type RateLimit, limited, retrying} from './limits.js';
import {metered} from './metered.js';
import {clientOver} from './resource-client.js';

export interface ConnectedOptions {
  readonly clock: Clock;
  readonly meter: Meter;
  readonly naming: Naming;
  readonly userAgent: string;
  /** Each client has its own token bucket; absent means no limit. */
  readonly rateLimit?: RateLimit;
  readonly timeoutMs?: number;
  /** The value of `--plat-api-content-type`; JSON unless given. */
  readonly contentType?: string;
  /** The use of CBOR; none unless given. */
  readonly cbor?: ClientContent['cbor'];
  /** Whether informers read the objects there are at the beginning of a watch; they list unless given. */
  readonly watchList?: boolean;
}

/**
 * Returns a component's network client with metrics, rate limit and retries. Clients of one connection share only its
 * sockets.
 */
export const connectedClient = (connection: HttpConnection, options: ConnectedOptions): Client =>
  clientOver(connectedCaller(connection, options, contentOf(options)), options.naming, options);

const connectedCaller = (
  connection: HttpConnection,
  {clock, meter, userAgent, rateLimit, timeoutMs}: Omit<ConnectedOptions, 'naming' | 'contentType' | 'cbor'>,
  content?: ClientContent,
): Caller => {
  const host = new URL(connection.server).host;
  const context = {clock, meter, host};
  const base = metered(
    httpsCaller(connection, {userAgent, ...(timeoutMs === undefined ? {} : {timeoutMs}), ...(content ? {content} : {})}),
    context,
  );
  return limited(retrying(base, context), rateLimit ?? {qps: -1, burst: 0}, context);
};

/** The protobuf media type of either vocabulary selects that of the server. */
const contentOf = ({naming, contentType = '', cbor = 'never'}: ConnectedOptions): ClientContent => ({
  naming,
  binary: namingOfMediaType(contentType) !== undefined,
  cbor,
});

/** Resolves the `--naming` of a client: detected from the server, or checked against it if given. */
export const chosenNaming = async (
  name: 'auto' | 'plat' | 'kubernetes',
  connection: HttpConnection,
  options: Omit<ConnectedOptions, 'naming' | 'rateLimit' | 'contentType' | 'cbor'>,
): Promise<Naming> => {
  const caller = connectedCaller(connection, options);
  if (name === 'auto') return detectNaming(caller);
  const requested = naming(name);
  await checkNaming(caller, requested);
  return requested;
};
