import {serviceUnavailable} from '#src/api/status.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {header, type ApiResponse} from '#src/api/request.js';
import {identityHeaders} from '#src/apiserver/aggregation/identity.js';
import {wantsUpgrade} from '#src/apiserver/aggregation/proxy.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Handler, RequestContext} from '#src/apiserver/request/context.js';
import {PlainRefusal} from '#src/apiserver/request/plain-refusal.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {TargetTls} from '#src/transport/dial.js';
import {Unreached, type Connections} from '#src/transport/http1/connections.js';
import {endpoint} from '#src/transport/network.js';
import {relayCall, type RelayRequest} from '#src/transport/relay/call.js';
import {relayUpgrade} from '#src/transport/relay/upgrade.js';
import {peerProxiedHeader, type PeerCatalog} from './catalog.js';
import type {PeerAddress, PeerEndpoints} from './endpoints.js';

export interface PeerProxyParts {
  readonly registry: Registry;
  readonly catalog: PeerCatalog;
  readonly endpoints: Pick<PeerEndpoints, 'get'>;
  readonly backends: Connections;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  tls(): TargetTls;
}

/** Passes requests that this server cannot serve to one that can. */
export interface PeerProxy {
  /**
   * Returns the handler of a request for a resource that only peers serve; undefined for all others. `local` is this
   * server's own.
   */
  handler(info: RequestInfo, local: (info: RequestInfo) => Handler): Handler | undefined;
}

/** Creates the proxy for resources that only other servers serve (KEP-4020). */
export const peerProxy = (parts: PeerProxyParts): PeerProxy => {
  const {registry, catalog, endpoints, random, log, meter} = parts;
  const rerouted = meter.counter({
    name: 'apiserver_rerouted_request_total',
    help: 'Total number of requests that were proxied to a peer kube apiserver because the local apiserver was not capable of serving it',
    labels: ['code'],
  });

  const addressesOf = async (ids: readonly string[]): Promise<readonly PeerAddress[]> => {
    const found = (await Promise.all(ids.map(id => endpoints.get(id)))).filter(address => address !== undefined);
    if (found.length > 0) return found;
    log.warn({servers: ids}, 'the addresses of the servers that serve a resource are not known');
    throw serviceUnavailable('Error getting ip and port info of the remote server while proxying');
  };

  /** Tries the servers in random order. After one that was not reached, another is tried only if no body was begun. */
  const relayed = async (context: RequestContext, ids: readonly string[]): Promise<ApiResponse> => {
    const left = [...(await addressesOf(ids))];
    for (;;) {
      const [address] = left.splice(Math.floor(random.float() * left.length), 1) as [PeerAddress];
      try {
        return await relay(parts, context, address);
      } catch (error) {
        log.warn({host: address.host, port: address.port, err: error}, 'a request could not be passed on to another server');
        if (left.length > 0 && error instanceof Unreached && !context.request.body) continue;
        throw new PlainRefusal(503, messageOf(error));
      }
    }
  };

  const counted = async (context: RequestContext, ids: readonly string[]): Promise<ApiResponse> => {
    try {
      const response = await relayed(context, ids);
      rerouted.add({code: String(response.status)});
      return response;
    } catch (error) {
      if (error instanceof PlainRefusal) rerouted.add({code: '503'});
      throw error;
    }
  };

  return {
    handler(info, local) {
      const {resource: target} = info;
      if (!target || registry.find(target.group, target.version, target.resource)) return undefined;
      const ids = catalog.serversOf(target.group, target.version, target.resource);
      if (ids.length === 0) return undefined;
      return context => (header(context.request, peerProxiedHeader) === 'true' ? local(info)(context) : counted(context, ids));
    },
  };
};

const relay = (
  {backends, gate, tls}: PeerProxyParts,
  {request, user, auditId}: RequestContext,
  {host, port}: PeerAddress,
): Promise<ApiResponse> => {
  const call: RelayRequest = {
    request,
    to: {scheme: 'https', host, port: String(port), tls: tls()},
    path: request.url,
    host: endpoint(host, port),
    headers: {...identityHeaders(user, gate('RemoteRequestHeaderUID')), 'audit-id': auditId, [peerProxiedHeader]: 'true'},
  };
  return wantsUpgrade(request) ? relayUpgrade(backends, call) : relayCall(backends, call);
};
