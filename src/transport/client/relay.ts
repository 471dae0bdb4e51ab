// Relays requests to an API server with the credentials of connection settings, both bodies as they come. The client in
// `http-connection.ts` is for calls of this process; this is for those of others, who see the server's own answers.

import {discard, type ApiRequest, type ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import {targetOf, type Target} from '#src/transport/dial.js';
import {connections, isSafe, type Connections} from '#src/transport/http1/connections.js';
import {systemNetwork} from '#src/transport/network.js';
import {relayCall} from '#src/transport/relay/call.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import {sameCredentials, type CredentialSource, type RequestCredentials} from '#src/transport/request-credentials.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {readServerMaterial, type TlsMaterial} from '#src/transport/tls-material.js';
import {dialerTo} from './channel.js';
import {credentialSource} from './credentials.js';
import {MaterialReloads} from './material-reloads.js';

/** The connections to a server, for requests of others. Disposing closes all of them. */
export interface ServerRelay extends Disposable {
  /** Relays a request and its response. Rejects when no response began. */
  relay(request: ApiRequest): Promise<ApiResponse>;
}

const connectTimeoutMs = 30_000;

/**
 * Opens the connections of settings to requests of others. Nothing is sent yet; files that cannot be read are reported
 * now.
 */
export const openRelay = async (
  settings: ConnectionSettings,
  {clock, log}: {readonly clock: Clock; readonly log: Log},
): Promise<ServerRelay> => {
  const network = systemNetwork(clock);
  const dial = await dialerTo(settings, network, clock);
  return new SettingsRelay(settings, await readServerMaterial(settings), connections({dial, clock, log}));
};

class SettingsRelay implements ServerRelay {
  readonly #settings: ConnectionSettings;
  readonly #reloads: MaterialReloads;
  readonly #credentials: CredentialSource;
  readonly #connections: Connections;
  readonly #basePath: string;
  #material: TlsMaterial;
  #target: Target;

  constructor(settings: ConnectionSettings, material: TlsMaterial, pool: Connections) {
    const {pathname} = new URL(settings.server);
    this.#settings = settings;
    this.#reloads = new MaterialReloads(settings, pool.clock);
    this.#credentials = credentialSource(settings, pool.clock);
    this.#connections = pool;
    this.#basePath = pathname === '/' ? '' : pathname.replace(/\/$/, '');
    this.#material = material;
    this.#target = targetWith(settings, material);
  }

  async relay(request: ApiRequest): Promise<ApiResponse> {
    const proof = await this.#credentials.proof();
    const response = await this.#send(request, proof);
    if (response.status !== 401) return response;
    this.#credentials.reset();
    const fresh = await this.#credentials.proof();
    if (!isSafe(request.method) || request.upgradable || sameCredentials(proof, fresh)) return response;
    discard(response);
    return this.#send(request, fresh);
  }

  [Symbol.dispose](): void {
    this.#connections[Symbol.dispose]();
  }

  async #send(request: ApiRequest, proof: RequestCredentials): Promise<ApiResponse> {
    await this.#refresh(proof);
    const {host, port, scheme} = this.#target;
    const isUsualPort = port === (scheme === 'https' ? '443' : '80');
    const headers: Record<string, string | readonly string[]> = {};
    for (const [name, value] of proof.headers) {
      const before = headers[name];
      headers[name] = before === undefined ? value : [...(typeof before === 'string' ? [before] : before), value];
    }
    const relayed = {
      request,
      to: this.#target,
      path: this.#basePath + request.url,
      host: isUsualPort ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`,
      // Over loopback, compression takes longer than it saves.
      headers: {
        ...headers,
        'x-forwarded-for': undefined,
        ...(host === 'localhost' || isLoopback(host) ? {'accept-encoding': undefined} : {}),
      },
    };
    return request.upgradable && request.headers['upgrade'] !== undefined
      ? relayUpgrade(this.#connections, relayed)
      : relayCall(this.#connections, relayed);
  }

  /** Uses other certificates once those of files, or of a plug-in, are others. */
  async #refresh(proof: RequestCredentials): Promise<void> {
    if (!this.#reloads.isDue(proof, this.#material)) return;
    const material = await this.#reloads.changed(proof.pair, this.#material);
    if (!material) return;
    this.#material = material;
    this.#target = targetWith(this.#settings, material);
  }
}

const targetWith = ({server, trust: {serverName, insecure}}: ConnectionSettings, {ca, pair}: TlsMaterial): Target => ({
  ...targetOf(new URL(server).origin, {ca, pair, serverName, insecure}),
  connectTimeoutMs,
});
