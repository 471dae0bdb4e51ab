// What a node has for a pod certificate, and what a request changes about it.
//
//     nothing ──> pending ──> issued ──> issued and pending ──> issued
//                    └──> refused <────────────┘

import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import type {Frozen} from '#src/api/key.js';
import {parseTime} from '#src/api/time.js';
import {pemBlocks, toPem} from '#src/pki/encoding/pem.js';

/** A certificate with its key, in PEM. Times are milliseconds. */
export interface IssuedCertificate {
  readonly key: string;
  readonly chain: string;
  readonly beginRefreshAt: number;
  readonly notAfter: number;
}

/** A request that the node has sent. */
export interface PendingRequest {
  readonly key: string;
  readonly name: string;
  /** From when on a request that is not found is taken to be deleted. */
  readonly abandonAt: number;
}

/** What ends a projection for good: it will never have another certificate. */
export interface Refusal {
  readonly type: 'Denied' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

export interface Credentials {
  readonly issued?: IssuedCertificate;
  readonly pending?: PendingRequest;
  readonly refusal?: Refusal;
  /** The reasons of the events about the issued certificate so far. */
  readonly told?: readonly Overdue[];
}

export type Overdue = 'CertificateOverdueForRefresh' | 'CertificateExpired';

const overdueMs = 10 * 60_000;

/** Returns the certificate to use. Throws while there is none. */
export const usable = ({issued, refusal}: Credentials): IssuedCertificate => {
  if (refusal) {
    const {type, reason, message} = refusal;
    throw new Error(
      `PodCertificateRequest was permanently ${type.toLowerCase()}: reason=${JSON.stringify(reason)} message=${JSON.stringify(message)}`,
    );
  }
  if (!issued) throw new Error('credential bundle is not issued yet');
  return issued;
};

/** The state in the metric. */
export const stateOf = ({issued, refusal}: Credentials, now: number): string => {
  if (refusal) return refusal.type.toLowerCase();
  if (!issued) return 'not_yet_issued';
  if (now > issued.notAfter) return 'expired';
  return now > issued.beginRefreshAt + overdueMs ? 'overdue_for_refresh' : 'fresh';
};

/** Returns the reasons of events that are due, each of which is told once per certificate. */
export const overdueOf = ({issued, told = []}: Credentials, now: number): readonly Overdue[] => {
  if (!issued) return [];
  const due: Overdue[] = [];
  if (now > issued.beginRefreshAt + overdueMs) due.push('CertificateOverdueForRefresh');
  if (now > issued.notAfter) due.push('CertificateExpired');
  return due.filter(reason => !told.includes(reason));
};

/** Returns the certificates of a chain without any other text. */
const cleaned = (chain: string): string => [...pemBlocks(chain)].map(({bytes}) => toPem('CERTIFICATE', bytes)).join('');

/** Returns the credentials after a look at the pending request; undefined while that is not decided. */
export const decided = ({status = {}}: Frozen<PodCertificateRequest>, {key}: PendingRequest, jitterMs: number): Credentials | undefined => {
  for (const {type, reason = '', message = ''} of status.conditions ?? []) {
    if (type === 'Denied' || type === 'Failed') return {refusal: {type, reason, message}};
    if (type !== 'Issued') continue;
    const {certificateChain = '', beginRefreshAt = '', notAfter = ''} = status;
    return {
      issued: {
        key,
        chain: cleaned(certificateChain),
        beginRefreshAt: (parseTime(beginRefreshAt) ?? 0) + jitterMs,
        notAfter: parseTime(notAfter) ?? 0,
      },
    };
  }
  return undefined;
};
