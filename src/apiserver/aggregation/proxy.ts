import {header, type ApiRequest} from '#src/api/request.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Handler} from '#src/apiserver/request/context.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import type {ServiceAddress, ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import type {Connections} from '#src/transport/http1/connections.js';
import {relayCall, type RelayRequest} from '#src/transport/relay/call.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import {endpoint} from '#src/transport/network.js';
import {identityHeaders} from './identity.js';
import type {Registration, Remote} from './registrations.js';

export interface ProxyParts {
  readonly backends: Connections;
  readonly resolve: ServiceResolver;
  readonly log: Log;
  /** Whether a redirect of the server is refused with an error instead of being relayed. */
  readonly refusesRedirects: boolean;
  gate(name: string): boolean;
}

const unavailable = (): PlainRefusal => new PlainRefusal(503, 'service unavailable');

const addressOf = async ({service}: Remote, {resolve, log}: ProxyParts): Promise<ServiceAddress> => {
  try {
    return await resolve(service);
  } catch (error) {
    log.warn(
      {namespace: service.namespace, service: service.name, err: error},
      'a service behind which a server should be could not be found',
    );
    throw unavailable();
  }
};

/** Whether a request asks for an upgraded connection, and can have one. */
export const wantsUpgrade = (request: ApiRequest): boolean =>
  Boolean(request.upgradable) &&
  (header(request, 'connection')?.toLowerCase().includes('upgrade') ?? false) &&
  header(request, 'upgrade') !== undefined;

/** Relays requests, with the user's identity, to the server of a group version, and its responses unchanged. */
export const proxied =
  ({remote}: Registration, parts: ProxyParts): Handler =>
  async ({request, user, auditId}) => {
    if (!remote?.available) throw unavailable();
    const {tls} = remote;
    if (tls instanceof Error) throw new PlainRefusal(500, tls.message);
    const {host, port} = await addressOf(remote, parts);
    const relayed: RelayRequest = {
      request,
      to: {scheme: 'https', host, port: String(port), tls},
      path: request.url,
      host: endpoint(host, port),
      headers: {...identityHeaders(user, parts.gate('RemoteRequestHeaderUID')), 'audit-id': auditId},
      refusesRedirects: parts.refusesRedirects,
    };
    try {
      return wantsUpgrade(request) ? await relayUpgrade(parts.backends, relayed) : await relayCall(parts.backends, relayed);
    } catch (error) {
      throw new PlainRefusal(503, messageOf(error));
    }
  };
