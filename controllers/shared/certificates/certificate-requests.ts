import type {Frozen, ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition} from '#src/api/types.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {parseSigningRequestInSteps, type SigningRequest} from '#src/pki/signing-request.js';
import {
  forLoop,
  sameKey,
  settled,
  type Attempt,
  type KeyedContext,
  type QueueSettings,
  type Reconcile,
  type Result,
} from '#src/runtime/controller.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Naming} from '#src/api/naming.js';
import type {Selection} from '#informers/selection.js';
import {messageOf} from '#src/base/message.js';

/** What the controllers of certificate signing requests share: the account and the queue. */
export const requestController = {
  serviceAccount: 'certificate-controller',
  workers: 5,
  queue: {name: 'certificate', baseDelayMs: 200, maxDelayMs: 1_000_000},
} as const satisfies {readonly queue: QueueSettings; readonly [key: string]: unknown};

/** A cached request. */
export type CachedRequest = Frozen<CertificateSigningRequest>;

/** Returns the condition of a type, whatever its status: the API allows only one. */
export const conditionOf = (
  csr: Pick<CachedRequest, 'status'>,
  type: 'Approved' | 'Denied' | 'Failed',
): Frozen<CertificateSigningRequestCondition> | undefined => csr.status?.conditions?.find(condition => condition.type === type);

/**
 * What is cached of a request: of a finished one metadata alone, and of one whose body is not cached what decides
 * whether it is handled.
 */
type PartialRequest = Pick<CachedRequest, 'metadata'> & {
  readonly spec?: {readonly signerName: string; readonly request?: string};
  readonly status?: CachedRequest['status'];
};

/**
 * The most objects of the cache before requests are cached without their bodies, and the longest body that is cached:
 * together 80 MB.
 */
const cachedWhole = 5_000;
const longestCached = 16_384;

const hasFailed = (csr: CachedRequest): boolean => {
  const status = conditionOf(csr, 'Failed')?.status;
  return status === 'True' || status === '';
};

/** Whether a request may still be handled: it has no certificate, was not denied, and did not fail. */
const isOpen = (csr: CachedRequest): boolean => !csr.status?.certificate && !conditionOf(csr, 'Denied') && !hasFailed(csr);

/**
 * The requests as their controllers cache them. There may be any number, since they pile up where nobody handles them:
 * of those that are finished only metadata is kept, and of the others the body up to a bound.
 */
const requests: Selection<CertificateSigningRequest> = {
  kind: kinds.certificateSigningRequests,
  shape: {
    name: 'open',
    of(csr, held) {
      const {apiVersion, kind, metadata, spec, status} = csr;
      const common = {apiVersion, kind, metadata};
      if (!isOpen(csr)) return common as CachedRequest;
      if (held < cachedWhole && JSON.stringify(csr).length <= longestCached) return csr;
      const conditions = status?.conditions?.map(({type, status: value}) => ({type, status: value}));
      return {...common, spec: {signerName: spec.signerName}, status: {conditions}} as unknown as CachedRequest;
    },
  },
};

/** Whether an open request of a signer is to be handled now. */
type IsDue = (csr: Pick<CachedRequest, 'status'>) => boolean;

/** Queues the requests of one signer that are due, for one loop if given. */
export const dueRequests = (signerOf: (naming: Naming) => string, isDue: IsDue, loop?: string) => {
  const watch = sameKey(
    requests,
    ({type, object}, {naming}) => type !== 'deleted' && object.spec?.signerName === signerOf(naming) && isDue(object),
  );
  return loop === undefined ? watch : forLoop(loop, watch);
};

/**
 * Reconciles open requests of one signer that are due with `handle`. Those that are cached without their body are read
 * from the server.
 */
export const whileDue = (
  {lister, client}: Pick<KeyedContext, 'lister' | 'client'>,
  signerName: string,
  isDue: IsDue,
  handle: (csr: CachedRequest, attempt: Attempt) => Promise<void>,
): Reconcile => {
  const cached = lister(requests);
  const isMine = (csr: CachedRequest): boolean => csr.spec.signerName === signerName && isOpen(csr) && isDue(csr);

  const whole = async (csr: PartialRequest): Promise<CachedRequest | undefined> => {
    if (csr.spec?.request !== undefined) return csr as CachedRequest;
    return unlessMissing(client.resource(kinds.certificateSigningRequests).get(csr.metadata?.name ?? ''));
  };
  return async (key: ObjectKey, attempt: Attempt): Promise<Result> => {
    const known: PartialRequest | undefined = cached.get(key);
    if (!known?.spec || !isMine(known as CachedRequest)) return settled;
    const csr = await whole(known);
    if (csr && isMine(csr)) await handle(csr, attempt);
    return settled;
  };
};

/** Parses the PKCS #10 structure of a request, in pieces if it is long. */
export const signingRequestIn = async (csr: CachedRequest, clock: Clock): Promise<SigningRequest> => {
  try {
    return await withClockHeld(clock, () =>
      runStepsYielding(parseSigningRequestInSteps(Buffer.from(csr.spec.request, 'base64')), new Yielder(clock)),
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
