// The connection of a client to an API server: calls and streams with credentials that are renewed, and certificates
// that are reloaded from files. A request whose credentials were rejected is sent once more with new ones.

import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {traceHeaders} from '#src/base/span.js';
import {CallLog} from '#src/transport/call-log.js';
import {Channel, type ChannelRequest} from './channel.js';
import {credentialSource} from './credentials.js';
import {sameCredentials, type ClientPair, type CredentialSource, type RequestCredentials} from '#src/transport/request-credentials.js';
import type {HttpHead, StreamSink} from '#src/transport/dispatch-request.js';
import type {Network} from '#src/transport/network.js';
import {oneLine} from '#src/transport/one-line.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {readServerMaterial, type TlsMaterial} from '#src/transport/tls-material.js';
import {MaterialReloads} from './material-reloads.js';

export interface HttpRequest {
  readonly method: string;
  /** Path and query, below the server's own path. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The timeout for the response head, and between parts of the body. */
  readonly timeoutMs?: number;
}

export interface HttpReply extends HttpHead {
  readonly body: Buffer;
}

/** A server and the credentials for it. Its connections are reused by all holders. */
export interface HttpConnection extends AsyncDisposable {
  readonly server: string;
  /**
   * Resolves to the whole response, whatever its status. Rejects with a one-line error when the server was not reached.
   */
  send(request: HttpRequest): Promise<HttpReply>;
  /**
   * Resolves at the response head; a body with status 200 then streams into `sink` until it ends or the signal aborts.
   * Other responses are returned whole.
   */
  stream(request: HttpRequest, sink: StreamSink): Promise<HttpReply | undefined>;
  /**
   * Resolves to whether streams fail by themselves when the connection is dead. Connects to find out; rejects when the
   * server was not reached.
   */
  isProbed(): Promise<boolean>;
}

/** A connection whose client certificate may be replaced while it is in use. */
export interface RenewableConnection extends HttpConnection {
  /** Uses another client certificate from now on. All requests with the one before are ended, watches too. */
  useCertificate(pair: ClientPair): Promise<void>;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  /** The log of calls. */
  readonly log?: Log | undefined;
  /** By default that of this machine. */
  readonly network?: Network | undefined;
}

const defaultTimeoutMs = 120_000;

/** Opens a connection by its settings. Nothing is sent yet, but files that cannot be read are reported now. */
export const connect = async (
  settings: ConnectionSettings,
  {clock, log = noLog, network}: ConnectionOptions,
): Promise<RenewableConnection> => {
  const material = await readServerMaterial(settings);
  const open = (current: TlsMaterial) => Channel.open(settings, current, clock, network);
  return new PooledConnection({settings, material, channel: await open(material), open, clock, calls: new CallLog(log, clock)});
};

interface PooledParts {
  readonly settings: ConnectionSettings;
  readonly material: TlsMaterial;
  readonly channel: Channel;
  /** Opens the connections with other certificates. */
  open(material: TlsMaterial): Promise<Channel>;
  readonly clock: Clock;
  readonly calls: CallLog;
}

class PooledConnection implements RenewableConnection {
  readonly server: string;
  readonly #credentials: CredentialSource;
  readonly #calls: CallLog;
  readonly #basePath: string;
  readonly #reloads: MaterialReloads;
  #material: TlsMaterial;
  #channel: Channel;
  readonly #open: PooledParts['open'];
  /** The certificate that replaces that of the settings. */
  #given: ClientPair | undefined;
  #reloading: Promise<void> | undefined;

  constructor({settings, material, channel, open, clock, calls}: PooledParts) {
    const url = new URL(settings.server);
    this.server = settings.server;
    this.#credentials = credentialSource(settings, clock);
    this.#calls = calls;
    this.#basePath = url.pathname === '/' ? '' : url.pathname;
    this.#reloads = new MaterialReloads(settings, clock);
    this.#material = material;
    this.#channel = channel;
    this.#open = open;
  }

  send(request: HttpRequest): Promise<HttpReply> {
    return this.#authenticated(request, (channel, options) => channel.send(options, request.signal));
  }

  stream(request: HttpRequest, sink: StreamSink): Promise<HttpReply | undefined> {
    return this.#authenticated(request, (channel, options) => channel.stream(options, request.signal, sink));
  }

  async isProbed(): Promise<boolean> {
    await this.#prepare(await this.#credentials.proof());
    try {
      return await this.#channel.isProbed();
    } catch (cause) {
      throw new Error(`${this.server}: ${oneLine(cause)}`, {cause});
    }
  }

  async useCertificate(pair: ClientPair): Promise<void> {
    await this.#reloading;
    const material = {...this.#material, pair};
    const old = this.#channel;
    this.#channel = await this.#open(material);
    this.#material = material;
    this.#given = pair;
    await old.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#channel.destroy();
  }

  /** Sends with current credentials, and once more with new ones if they were rejected. */
  async #authenticated<R extends HttpReply | undefined>(
    request: HttpRequest,
    run: (channel: Channel, options: ChannelRequest) => Promise<R>,
  ): Promise<R> {
    const proof = await this.#credentials.proof();
    const reply = await this.#attempt(request, proof, run);
    if (reply?.status !== 401) return reply;
    this.#credentials.reset();
    const fresh = await this.#credentials.proof();
    return sameCredentials(proof, fresh) ? reply : this.#attempt(request, fresh, run);
  }

  async #attempt<R>(
    request: HttpRequest,
    proof: RequestCredentials,
    run: (channel: Channel, options: ChannelRequest) => Promise<R>,
  ): Promise<R> {
    await this.#prepare(proof);
    const {signal, timeoutMs = defaultTimeoutMs} = request;
    try {
      const {method, body} = request;
      const options = {method, path: this.#basePath + request.path, headers: headersOf(request, proof), body, timeoutMs};
      const sent = () => ({method, url: this.server + request.path, headers: pairsOf(options.headers), body});
      return await this.#calls.run(
        sent,
        () => run(this.#channel, {...options, headers: [...options.headers, ...traceHeaders().flat()]}),
        reply => reply ?? {status: 200},
      );
    } catch (cause) {
      if (signal?.aborted) throw signal.reason as Error;
      throw new Error(`${request.method} ${this.server}${request.path.split('?', 1)[0]}: ${oneLine(cause)}`, {cause});
    }
  }

  /** Switches to new connections when certificates changed. Requests in progress end on the old ones. */
  async #prepare(proof: RequestCredentials): Promise<void> {
    if (this.#reloads.isDue(proof, this.#material))
      this.#reloading ??= this.#renew(proof).finally(() => {
        this.#reloading = undefined;
      });
    if (this.#reloading) await this.#reloading;
  }

  async #renew({pair}: RequestCredentials): Promise<void> {
    const material = await this.#reloads.changed(pair ?? this.#given, this.#material);
    if (!material) return;
    const channel = await this.#open(material).catch(() => undefined);
    if (!channel) return;
    const old = this.#channel;
    this.#channel = channel;
    this.#material = material;
    old.close();
  }
}

const headersOf = ({headers}: HttpRequest, proof: RequestCredentials): string[] => {
  const fields: string[] = [];
  for (const name in headers) fields.push(name, headers[name]!);
  for (const [name, value] of proof.headers) fields.push(name, value);
  return fields;
};

const pairsOf = (fields: readonly string[]): (readonly [string, string])[] =>
  fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1]!] as const] : []));
