import {
  conditionOf,
  signingRequestIn,
  whileDue,
  withCondition,
  withStatus,
  type CachedRequest,
} from '#controllers/shared/certificates/certificate-requests.js';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import {signRequestInSteps} from '#src/pki/authority.js';
import {certificatePem} from '#src/pki/certificate.js';
import type {SigningRequest} from '#src/pki/signing-request.js';
import type {KeyedContext, Reconcile} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {withClockHeld} from '#src/base/clock.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {maximumTtlOf, signerTokens, signingPlan, type SignerFiles, type SignerToken, type SigningOptions} from './key-files.js';
import {SigningPair} from './key-pair.js';
import {signingChecks} from './policy.js';

type Context = KeyedContext<SigningOptions>;

/** Whether an open request is to be signed. */
export const isApproved = (csr: Pick<CachedRequest, 'status'>): boolean => conditionOf(csr, 'Approved') !== undefined;

/** Returns one loop for each signer that has a key pair. */
export const signers = async (context: Context): Promise<Readonly<Record<string, Reconcile>>> => {
  const plan = signingPlan(context.options);
  const idle = signerTokens.filter(token => !plan.some(({signer}) => signer === token));
  for (const token of idle) context.log.info({signer: context.naming.signers[token]}, 'signer has no pair of its own and does not act');
  const loops = await Promise.all(
    plan.map(async files => [files.signer, signer(context, files.signer, await openPair(context, files))] as const),
  );
  return Object.fromEntries(loops);
};

const openPair = async (context: Context, files: SignerFiles): Promise<SigningPair> => {
  try {
    return await SigningPair.open(files, context);
  } catch (error) {
    const [certificate, key] = files.flags;
    const cause = messageOf(error);
    const named = `--${certificate}=${files.certificate} and --${key}=${files.key}`;
    const message = `${named}: failed to start ${context.naming.signers[files.signer]} certificate controller: ${cause}`;
    throw new Error(message, {cause: error});
  }
};

const signer = (context: Context, token: SignerToken, pair: Pick<SigningPair, 'current'>): Reconcile => {
  const {writer, clock, naming, options} = context;
  const requests = writer(kinds.certificateSigningRequests);
  const signerName = naming.signers[token];
  const maximumTtlMs = maximumTtlOf(options);

  const failed = (csr: CachedRequest, message: string) =>
    withCondition(csr, {type: 'Failed', status: 'True', reason: 'SignerValidationFailure', message, lastUpdateTime: wireTime(clock.now())});
  const issued = async (csr: CachedRequest, request: SigningRequest) => {
    const {usages = [], expirationSeconds} = csr.spec;
    const signing = signRequestInSteps(pair.current(), request, {usages, expirationSeconds, maximumTtlMs, now: clock.now()});
    const raw = await withClockHeld(clock, () => runStepsYielding(signing, new Yielder(clock)));
    return withStatus(csr, {certificate: Buffer.from(certificatePem({raw})).toString('base64')});
  };

  return whileDue(context, signerName, isApproved, async csr => {
    const request = await signingRequestIn(csr, clock);
    const failure = signingChecks[token](request, csr.spec.usages ?? []);
    await requests.updateStatus(failure === undefined ? await issued(csr, request) : failed(csr, failure));
  });
};
