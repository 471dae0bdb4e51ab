// Why a certificate signing request is pending, denied, failed or unsigned, in words, and what to do about it. Applies
// the checks of the controllers that approve and sign.

import {recognizers} from '#controllers/certificatesigningrequest-approving/policy.js';
import {signerTokens, type SignerToken} from '#controllers/certificatesigningrequest-signing/key-files.js';
import {signingChecks} from '#controllers/certificatesigningrequest-signing/policy.js';
import type {Naming} from '#src/api/naming.js';
import {parseTime} from '#src/api/time.js';
import type {CertificateSigningRequest, CertificateSigningRequestCondition} from '#src/api/types.js';
import {humanDuration} from '#src/api/duration.js';
import {messageOf} from '#src/base/message.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {checkRequestSignature, parseSigningRequest, type SigningRequest} from '#src/pki/signing-request.js';
import {conditionOf} from './conditions.js';

/** Whether the requester may create a virtual subresource of signing requests; undefined if that could not be asked. */
export type IsAllowed = (csr: CertificateSigningRequest, permission: string) => Promise<boolean | undefined>;

export interface ExplainContext {
  readonly naming: Naming;
  readonly now: number;
  readonly isAllowed: IsAllowed;
}

const agoText = (time: string | undefined, now: number): string => {
  const at = parseTime(time);
  return at === undefined ? '' : ` ${humanDuration(now - at)} ago`;
};

const because = ({reason, message}: CertificateSigningRequestCondition): string =>
  [reason, message].filter(Boolean).join(': ') || 'no reason was given';

const signerOf = ({spec}: CertificateSigningRequest, {signers}: Naming): SignerToken | undefined =>
  signerTokens.find(token => signers[token] === spec.signerName);

/** Returns what the signer would object to; undefined if nothing, or if another program signs. */
const objectionOf = (csr: CertificateSigningRequest, naming: Naming): {readonly request?: SigningRequest; readonly objection?: string} => {
  let request: SigningRequest;
  try {
    request = parseSigningRequest(Buffer.from(csr.spec.request, 'base64'));
    checkRequestSignature(request);
  } catch (error) {
    return {objection: `its content is no valid signing request: ${messageOf(error)}`};
  }
  const signer = signerOf(csr, naming);
  const objection = signer && signingChecks[signer](request, csr.spec.usages ?? []);
  return {request, ...(objection === undefined ? {} : {objection})};
};

const issued = ({status}: CertificateSigningRequest, {now}: ExplainContext): string[] => {
  try {
    const [certificate] = parseCertificateBundle(Buffer.from(status?.certificate ?? '', 'base64'));
    if (!certificate) return ['issued: the certificate is in status.certificate'];
    const {subject, notAfter} = certificate;
    const left = notAfter > now ? `valid for another ${humanDuration(notAfter - now)}` : `expired ${humanDuration(now - notAfter)} ago`;
    return [
      `issued: a certificate for CN=${subject.commonName}, ${left}`,
      'The request is deleted an hour after its approval; the certificate stays valid.',
    ];
  } catch (error) {
    return [`issued, but status.certificate cannot be read: ${messageOf(error)}`];
  }
};

const unsigned = (
  csr: CertificateSigningRequest,
  approved: CertificateSigningRequestCondition,
  {naming, now}: ExplainContext,
): string[] => {
  const {objection} = objectionOf(csr, naming);
  const first = `approved${agoText(approved.lastUpdateTime, now)} (${because(approved)}), and not signed yet`;
  if (objection !== undefined) return [first, `The signer will refuse it: ${objection}.`, 'Create a new request without this fault.'];
  if (!signerOf(csr, naming))
    return [first, `No controller here signs for ${csr.spec.signerName}: its own signer has to, and seems not to work.`];
  return [
    first,
    `The controller certificatesigningrequest-signing-controller signs it as soon as it works and has a key pair for ${csr.spec.signerName}.`,
    'Check that the controller manager runs with this controller, and its flags --cluster-signing-cert-file and --cluster-signing-key-file, or those of this signer.',
  ];
};

/** Why no controller approves a request. */
const automatic = async (
  csr: CertificateSigningRequest,
  request: SigningRequest,
  {naming, isAllowed}: ExplainContext,
): Promise<string[]> => {
  const recognized = recognizers.filter(each => each.recognizes(csr as never, request, naming));
  if (csr.spec.signerName === naming.signers.agentServing)
    return [
      'The controller node-serving-approving-controller approves requests of nodes for their own names and addresses, if the controller manager runs with it (--controllers) and its policy (--node-serving-approval-*) allows them.',
    ];
  if (recognized.length === 0) return [`No controller approves requests for ${csr.spec.signerName} like this one: somebody has to.`];
  const user = csr.spec.username ?? '';
  const resource = `certificatesigningrequests.${naming.group('certificates')}`;
  const {permission} = recognized.at(-1)!;
  const allowed = await Promise.all(recognized.map(each => isAllowed(csr, each.permission)));
  if (allowed.includes(true))
    return [
      'The controller certificatesigningrequest-approving-controller approves it as soon as it works: check that the controller manager runs with it.',
    ];
  if (allowed.includes(undefined))
    return [`It is approved automatically if ${user} may create ${resource}/${permission}; you may not ask whether that is so.`];
  return [
    `It would be approved automatically if ${user} were allowed to create ${resource}/${permission}: bind a role with this rule to approve such requests.`,
  ];
};

const pending = async (csr: CertificateSigningRequest, context: ExplainContext): Promise<string[]> => {
  const {request, objection} = objectionOf(csr, context.naming);
  const first = `pending: created${agoText(csr.metadata?.creationTimestamp, context.now)} by ${csr.spec.username ?? 'nobody'}, and neither approved nor denied`;
  if (!request || objection !== undefined)
    return [
      first,
      `If it were approved, the signer would refuse it: ${objection}.`,
      `Deny it, and create a new request without this fault: plat certificate deny ${csr.metadata?.name}`,
    ];
  return [
    first,
    ...(await automatic(csr, request, context)),
    `To approve it: plat certificate approve ${csr.metadata?.name}`,
    'It is deleted a day after its creation if nobody decides.',
  ];
};

/** Returns the explanation of a request, line by line: its state first, then what to do. */
export const explainRequest = async (csr: CertificateSigningRequest, context: ExplainContext): Promise<string[]> => {
  const {certificate} = csr.status ?? {};
  const denied = conditionOf(csr, 'Denied');
  if (denied)
    return [
      `denied${agoText(denied.lastUpdateTime, context.now)} (${because(denied)})`,
      'A decision is final: create a new request under another name, or delete this one first.',
    ];
  const failed = conditionOf(csr, 'Failed');
  if (failed)
    return [
      `failed${agoText(failed.lastUpdateTime, context.now)} (${because(failed)})`,
      'The signer does not try again: create a new request without this fault.',
    ];
  if (certificate) return issued(csr, context);
  const approved = conditionOf(csr, 'Approved');
  return approved ? unsigned(csr, approved, context) : pending(csr, context);
};
