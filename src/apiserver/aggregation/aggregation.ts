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

/** The servers behind this one. */
export interface Aggregation {
  readonly registrations: Registrations;
  readonly discovery: RemoteDiscovery;
  readonly openApi: RemoteOpenApi;
  /** Passes requests on to who serves a registered version. */
  behind(registration: Registration): Handler;
  /** What answers a request that one of them serves; nothing for one that is this server's. */
  handler(info: Pick<RequestInfo, 'path'>): Handler | undefined;
  /** Rejects with why the server behind a registration does not answer. */
  check(name: string): Promise<void>;
}

export const aggregate = (parts: AggregationParts): Aggregation => {
  const {registrations} = parts;
  return {
    registrations,
    discovery: new RemoteDiscovery(parts),
    openApi: new RemoteOpenApi(parts),
    behind: registration => proxied(registration, parts),
    handler({path}) {
      const registration = registrations.at(path);
      return registration && proxied(registration, parts);
    },
    check: discoveryCheck(parts),
  };
};
