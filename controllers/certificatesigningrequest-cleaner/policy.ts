import {conditionOf, type CachedRequest} from '#controllers/shared/certificates/certificate-requests.js';
import {parseTime} from '#src/api/time.js';
import {parseCertificates} from '#src/pki/certificate.js';
import {firstPemBlock} from '#src/pki/encoding/pem.js';

const hour = 3_600_000;

/** A reason to delete a request. */
interface Rule {
  readonly reason: string;
  applies(csr: CachedRequest, now: number): boolean;
}

const isOlder = (time: string | undefined, ageMs: number, now: number): boolean => {
  const at = parseTime(time);
  return at !== undefined && now - at > ageMs;
};

const decided = (type: 'Approved' | 'Denied' | 'Failed', ageMs: number, reason: string, issued?: boolean): Rule => ({
  reason,
  applies: (csr, now) =>
    (issued === undefined || issued === Boolean(csr.status?.certificate)) && isOlder(conditionOf(csr, type)?.lastUpdateTime, ageMs, now),
});

/** Returns when the issued certificate expires; undefined where it cannot be parsed. */
const expiryOf = ({status}: CachedRequest): number | undefined => {
  const block = firstPemBlock(Buffer.from(status?.certificate ?? '', 'base64'));
  try {
    return block && parseCertificates(block.bytes)[0]?.notAfter;
  } catch {
    return undefined; // The API accepts content that is not valid here.
  }
};

/**
 * Requests are kept long enough for the requester to read the result. A request with conditions of other types only is
 * kept.
 */
const rules: readonly Rule[] = [
  decided('Approved', hour, 'issued', true),
  decided('Denied', hour, 'denied'),
  decided('Failed', hour, 'failed'),
  {
    reason: 'unhandled',
    applies: ({metadata, status}, now) => (status?.conditions ?? []).length === 0 && isOlder(metadata?.creationTimestamp, 24 * hour, now),
  },
  decided('Approved', 24 * hour, 'approved but never issued', false),
  {reason: 'expired', applies: (csr, now) => conditionOf(csr, 'Approved') !== undefined && (expiryOf(csr) ?? Infinity) < now},
];

/** Returns why a request is to be deleted now; undefined if it is to be kept. */
export const reasonToDelete = (csr: CachedRequest, now: number): string | undefined => rules.find(({applies}) => applies(csr, now))?.reason;
