import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition} from '#src/api/types.js';
import {held, type Clock} from '#src/base/clock.js';
import {runStepsInPieces} from '#src/base/steps.js';
import {Pieces} from '#src/base/turn.js';
import {parseSigningRequestInSteps, type SigningRequest} from '#src/pki/signing-request.js';
import {settled, type Attempt, type KeyedContext, type QueueSettings, type Reconcile, type Result} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';

/** What the controllers of certificate signing requests share: the account and the queue. */
export const requestController = {
  serviceAccount: 'certificate-controller',
  primary: kinds.certificateSigningRequests,
  workers: 5,
  queue: {name: 'certificate', baseDelayMs: 200, maxDelayMs: 1_000_000},
} as const satisfies {readonly queue: QueueSettings; readonly [key: string]: unknown};

/** A cached request. */
export type CachedRequest = Frozen<CertificateSigningRequest>;

/** Returns the condition of a type, whatever its status: the API allows only one. */
export const conditionOf = (
  csr: CachedRequest,
  type: 'Approved' | 'Denied' | 'Failed',
): Frozen<CertificateSigningRequestCondition> | undefined => csr.status?.conditions?.find(condition => condition.type === type);

/** Reconciles requests without a certificate with `handle`. */
export const untilIssued = (
  context: Pick<KeyedContext, 'lister'>,
  handle: (csr: CachedRequest, attempt: Attempt) => Promise<void>,
): Reconcile => {
  const requests = context.lister(kinds.certificateSigningRequests);
  return async (key: ObjectKey, attempt: Attempt): Promise<Result> => {
    const csr = requests.get(key);
    if (csr && !csr.status?.certificate) await handle(csr, attempt);
    return settled;
  };
};

/** Parses the PKCS #10 structure of a request, in pieces if it is long. */
export const signingRequestIn = async (csr: CachedRequest, clock: Clock): Promise<SigningRequest> => {
  try {
    return await held(clock, () =>
      runStepsInPieces(parseSigningRequestInSteps(Buffer.from(csr.spec.request, 'base64')), new Pieces(clock)),
    );
  } catch (error) {
    const cause = messageOf(error);
    throw new Error(`unable to parse csr ${JSON.stringify(csr.metadata?.name ?? '')}: ${cause}`, {cause: error});
  }
};

/** Returns the request with another status, to be written. The cached one is not changed. */
export const withStatus = (
  csr: CachedRequest,
  status: Frozen<NonNullable<CertificateSigningRequest['status']>>,
): CertificateSigningRequest => ({...csr, status: {...csr.status, ...status}}) as CertificateSigningRequest;

/** Returns the request with one more condition. */
export const withCondition = (csr: CachedRequest, condition: CertificateSigningRequestCondition): CertificateSigningRequest =>
  withStatus(csr, {conditions: [...(csr.status?.conditions ?? []), condition]});
