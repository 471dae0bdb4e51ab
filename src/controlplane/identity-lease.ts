import {createHash} from 'node:crypto';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import {parseTime, wireMicroTime} from '#src/api/time.js';
import type {Lease} from '#src/api/types.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {identityLabel} from '#src/model/storage-version.js';

/** The duration of a server's lease, the interval of its renewal, and the interval of the search for expired ones. */
const leaseSeconds = 3600;
const renewMs = 10_000;
const renewAloneMs = (leaseSeconds * 1000) / 3;
const sweepMs = 3_600_000;

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Base 32 in lower case, without padding (RFC 4648 §6). */
const base32 = (bytes: Buffer): string => {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  return (bits.match(/.{1,5}/g) ?? []).map(part => alphabet[Number.parseInt(part.padEnd(5, '0'), 2)]).join('');
};

/** The identity of the server on a host (KEP-1965). */
export const serverIdentity = (host: string): string => `apiserver-${base32(createHash('sha256').update(host).digest().subarray(0, 16))}`;

export interface IdentitySettings {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly host: string;
  /** Whether no other server can exist: then renewals are less frequent. */
  readonly isAlone?: boolean;
}

/**
 * Maintains a Lease with this server's identity, and deletes leases that have expired. Resolves once the lease exists.
 */
export const maintainIdentityLease = async (settings: IdentitySettings, signal: AbortSignal): Promise<void> => {
  const {client, clock, log, random, host, isAlone = false} = settings;
  const {naming} = client;
  const name = serverIdentity(host);
  const holder = `${name}_${random.uuid()}`;
  const leases = client.resource(kinds.leases);
  const namespace = naming.systemNamespace;
  const renew = async (): Promise<void> => {
    const renewTime = wireMicroTime(clock.now());
    try {
      const found = await leases.get(name, {namespace});
      await leases.update({...found, spec: {...found.spec, holderIdentity: holder, leaseDurationSeconds: leaseSeconds, renewTime}});
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const labels = {[identityLabel(naming)]: naming.component('apiserver'), [naming.labels.hostname]: host};
      await leases.create({
        metadata: {name, namespace, labels},
        spec: {holderIdentity: holder, leaseDurationSeconds: leaseSeconds, renewTime},
      });
    }
  };
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    using _ = clock.hold();
    try {
      await act();
    } catch (error) {
      if (!signal.aborted && !isConflict(error) && !isAlreadyExists(error)) log.warn({err: error}, what);
    }
  };
  await attempt('announcing the server failed', renew);
  runEvery(clock, isAlone ? renewAloneMs : renewMs, signal, () => attempt('announcing the server failed', renew));
  runEvery(clock, sweepMs, signal, () => attempt('taking away leases of dead servers failed', () => sweep(client, clock)));
};

const isDead = ({spec}: Lease, now: number): boolean => {
  const renewed = parseTime(spec?.renewTime);
  return renewed === undefined || renewed + (spec?.leaseDurationSeconds ?? leaseSeconds) * 1000 < now;
};

const sweep = async (client: Client, clock: Clock): Promise<void> => {
  const {naming} = client;
  const leases = client.resource(kinds.leases);
  const labelSelector = `${identityLabel(naming)}=${naming.component('apiserver')}`;
  const {items} = await leases.list({namespace: naming.systemNamespace, labelSelector});
  for (const lease of items.filter(item => isDead(item, clock.now()))) {
    const {name = '', namespace = '', uid = '', resourceVersion = ''} = lease.metadata ?? {};
    await leases.delete(name, {namespace, preconditions: {uid, resourceVersion}}).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }
};
