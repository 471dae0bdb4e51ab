import type {Naming} from '#src/api/naming.js';
import {wellKnown} from '#src/api/user.js';
import {messageOf} from '#src/base/message.js';
import {endpoint} from '#src/transport/network.js';
import type {Backends} from '#src/transport/relay/backends.js';
import type {ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {inquire} from './inquiry.js';
import {rootOf, type Registrations} from './registrations.js';

export interface DiscoveryCheckParts {
  readonly naming: Naming;
  readonly backends: Backends;
  readonly resolve: ServiceResolver;
  readonly registrations: Registrations;
}

/** Several at once, since each may reach another of the servers behind a service; one that answers is enough. */
const attempts = 5;
const timeoutMs = 5000;

/**
 * Asks the server behind a service for the one document that every API has to have: which resources a version has. Whoever answers is believed, as no more
 * is asked than whether somebody does. Rejects with what the last of the attempts failed with, in the original's words.
 */
export const discoveryCheck =
  ({naming, backends, resolve, registrations}: DiscoveryCheckParts) =>
  async (name: string): Promise<void> => {
    const registration = registrations.get(name);
    if (!registration?.remote) return;
    const {service, believing} = registration.remote;
    const path = rootOf(registration);
    const ask = async (): Promise<void> => {
      const at = await resolve(service);
      const url = `https://${endpoint(at.host, at.port)}${path}`;
      const failing = (why: string, cause?: unknown) => new Error(`failing or missing response from ${url}: ${why}`, {cause});
      const {status} = await inquire(backends, {at, tls: believing, path, user: {name: naming.componentUser('aggregator'), groups: [wellKnown.masters]}, headers: {}, timeoutMs}).catch((error: unknown) => {
        throw failing(`Get ${JSON.stringify(url)}: ${messageOf(error)}`, error);
      });
      if (status < 200 || status >= 300) throw failing(`bad status from ${url}: ${status}`);
    };
    let last: unknown;
    const asked = Array.from({length: attempts}, () =>
      ask().catch((error: unknown) => {
        last = error;
        throw error;
      }),
    );
    await Promise.any(asked).catch(() => {
      throw last;
    });
  };
