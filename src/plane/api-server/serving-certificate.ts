import type {SecureContextOptions} from 'node:tls';
import {hostname} from 'node:os';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Authority} from '#src/pki/authority.js';
import {issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';

const day = 24 * 3600 * 1000;
const lifetimeMs = 365 * day;
/** The age at which a running server's certificate is renewed. */
export const renewAfterMs = lifetimeMs * 0.8;

/** A serving certificate of the plane's own CA, valid for a year, for all names of the server. */
export const planeServingCertificate = async (
  authority: Authority,
  {clock, naming, hosts}: {clock: Clock; naming: Naming; hosts: readonly string[]},
): Promise<SecureContextOptions> => {
  const all = ['localhost', '127.0.0.1', '::1', hostname(), ...naming.selfServiceNames, ...hosts];
  const pair = keyPairPem(
    await issueServingCertificate(authority, {
      now: clock.now(),
      lifetimeMs,
      commonName: naming.component('apiserver'),
      hosts: [...new Set(all)],
    }),
  );
  return {cert: pair.certificate, key: pair.key};
};
