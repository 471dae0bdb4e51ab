import type {RequestInfo} from '#src/apiserver/request/request-info.js';
import type {Handler} from '#src/apiserver/request/context.js';
import {proxied, type ProxyParts} from './proxy.js';
import type {Registrations} from './registrations.js';

export interface AggregationParts extends ProxyParts {
  readonly registrations: Registrations;
}

/** Finds what answers a request that others serve; nothing for one that is this server's. */
export const elsewhere =
  ({registrations, ...parts}: AggregationParts) =>
  ({path}: RequestInfo): Handler | undefined => {
    const registration = registrations.at(path);
    return registration && proxied(registration, parts);
  };
