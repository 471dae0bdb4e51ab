import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import {endpoint} from '#src/transport/network.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {requestRemote} from './remote-request.js';
import {rootOf, type Registrations} from './registrations.js';

export interface DiscoveryCheckParts {
  readonly naming: Naming;
  readonly backends: Connections;
  readonly resolve: ServiceResolver;
  readonly registrations: Registrations;
}

/** Concurrent attempts, each of which may reach another server behind the service; one success is enough. */
const attempts = 5;
const timeoutMs = 5000;

/**
 * Requests the one document that every API must have from the server behind a service: the resources of a version.
 * Certificates are not verified, since only availability is checked. Rejects with the error of the last attempt, as
 * upstream words it.
 */
export const discoveryCheck =
  ({naming, backends, resolve, registrations}: DiscoveryCheckParts) =>
  async (name: string): Promise<void> => {
    const registration = registrations.get(name);
    if (!registration?.remote) return;
    const {service, unverifiedTls} = registration.remote;
    const path = rootOf(registration);
    const attempt = async (): Promise<void> => {
      const at = await resolve(service);
      const url = `https://${endpoint(at.host, at.port)}${path}`;
      const failing = (why: string, cause?: unknown) => new Error(`failing or missing response from ${url}: ${why}`, {cause});
      const {status} = await requestRemote(backends, {
        at,
        tls: unverifiedTls,
        path,
        user: {name: naming.componentUser('aggregator'), groups: [wellKnown.masters]},
        headers: {},
        timeoutMs,
      }).catch((error: unknown) => {
        throw failing(`Get ${JSON.stringify(url)}: ${messageOf(error)}`, error);
      });
      if (status < 200 || status >= 300) throw failing(`bad status from ${url}: ${status}`);
    };
    let last: unknown;
    const pending = Array.from({length: attempts}, () =>
      attempt().catch((error: unknown) => {
        last = error;
        throw error;
      }),
    );
    await Promise.any(pending).catch(() => {
      throw last;
    });
  };
