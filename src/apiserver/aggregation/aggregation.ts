import type {Naming} from '#src/api/naming.js';
import type {Handler} from '#src/apiserver/request/context.js';
import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import {discoveryCheck} from './discovery-check.js';
import {proxied, type ProxyParts} from './proxy.js';
import type {Registration, Registrations} from './registrations.js';
import {RemoteDiscovery} from './remote-discovery.js';
import {RemoteOpenApi} from './remote-openapi.js';

export interface AggregationParts extends ProxyParts {
  readonly naming: Naming;
  readonly registrations: Registrations;
}

/** The aggregated servers. */
export interface Aggregation {
  readonly registrations: Registrations;
  readonly discovery: RemoteDiscovery;
  readonly openApi: RemoteOpenApi;
  /** Returns a handler that relays requests to the server of a registered version. */
  relayTo(registration: Registration): Handler;
  /** Returns the handler of a request that an aggregated server serves; undefined for this server's own. */
  handler(info: Pick<RequestInfo, 'path'>): Handler | undefined;
  /** Rejects with the reason why the server of a registration is not available. */
  check(name: string): Promise<void>;
}

export const aggregate = (parts: AggregationParts): Aggregation => {
  const {registrations} = parts;
  return {
    registrations,
    discovery: new RemoteDiscovery(parts),
    openApi: new RemoteOpenApi(parts),
    relayTo: registration => proxied(registration, parts),
    handler({path}) {
      const registration = registrations.at(path);
      return registration && proxied(registration, parts);
    },
    check: discoveryCheck(parts),
  };
};
