import {humanDuration} from '#src/api/duration.js';
import {duplicate, forbiddenField, invalid, notSupported, type FieldError} from '#src/api/field-error.js';
import {kinds} from '#src/api/kinds/index.js';
import type {CertificateSigningRequest} from '#src/api/types.js';
import {checkRequestSignature, parseSigningRequest} from '#src/pki/signing-request.js';
import {knownUsages} from '#src/pki/usages.js';
import {ageColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {messageOf} from '#src/base/message.js';
import {
  conditionsOf,
  fillTimes,
  restoreVerdicts,
  validateConditionChanges,
  validateConditions,
  type ConditionRights,
} from './conditions.js';
import {countDurations} from './durations.js';
import {checkIssuedCertificate} from './issued-certificate.js';
import {validateSignerName} from './signer-name.js';

const shortestSeconds = 600;
const usagesSorted = [...knownUsages].sort();

function* validateRequest({spec}: Readonly<CertificateSigningRequest>): Iterable<FieldError> {
  try {
    checkRequestSignature(parseSigningRequest(Buffer.from(spec.request ?? '', 'base64')));
  } catch (error) {
    yield invalid('spec.request', spec.request ?? null, messageOf(error));
  }
}

function* validateUsages({spec}: Readonly<CertificateSigningRequest>): Iterable<FieldError> {
  const seen = new Set<string>();
  for (const [i, usage] of (spec.usages ?? []).entries()) {
    const path = `spec.usages[${i}]`;
    if (!knownUsages.has(usage)) yield notSupported(path, usage, usagesSorted);
    if (seen.has(usage)) yield duplicate(path, usage);
    seen.add(usage);
  }
}

/** Differs from upstream: no usages at all, and the legacy signer, are accepted. */
function* validateSpec(csr: Readonly<CertificateSigningRequest>): Iterable<FieldError> {
  yield* validateRequest(csr);
  yield* validateUsages(csr);
  yield* validateSignerName('spec.signerName', csr.spec.signerName);
  const {expirationSeconds} = csr.spec;
  if (expirationSeconds !== undefined && expirationSeconds !== null && expirationSeconds < shortestSeconds) {
    yield invalid(
      'spec.expirationSeconds',
      expirationSeconds,
      `may not specify a duration less than ${shortestSeconds} seconds (10 minutes)`,
    );
  }
}

const certificateOf = (csr: Readonly<CertificateSigningRequest>): string => csr.status?.certificate ?? '';

function* validateCertificate(csr: Readonly<CertificateSigningRequest>, old: Readonly<CertificateSigningRequest>): Iterable<FieldError> {
  const [certificate, before] = [certificateOf(csr), certificateOf(old)];
  if (certificate === before) return;
  if (certificate) {
    try {
      checkIssuedCertificate(Buffer.from(certificate, 'base64'));
    } catch (error) {
      yield invalid('status.certificate', '<certificate data>', messageOf(error));
    }
  }
  if (before) yield forbiddenField('status.certificate', 'updates may not modify existing certificate content');
}

/** The spec was validated at creation and is immutable. */
const validateUpdate = (rights: ConditionRights) =>
  function* (csr: Readonly<CertificateSigningRequest>, old: Readonly<CertificateSigningRequest> | undefined): Iterable<FieldError> {
    yield* validateConditions(csr, old);
    if (!old) return;
    yield* validateCertificate(csr, old);
    yield* validateConditionChanges(csr, old, rights);
  };

const conditionText = (csr: Readonly<CertificateSigningRequest>): string => {
  const types = new Set(conditionsOf(csr).map(({type}) => type));
  const verdict = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending';
  return `${verdict}${types.has('Failed') ? ',Failed' : ''}${certificateOf(csr) ? ',Issued' : ''}`;
};

const durationText = ({spec}: Readonly<CertificateSigningRequest>): string =>
  spec.expirationSeconds === undefined || spec.expirationSeconds === null ? '<none>' : humanDuration(spec.expirationSeconds * 1000);

/** CertificateSigningRequest: requests an X.509 certificate from a signer. Its spec is immutable. */
export const certificateSigningRequests = defineResource<CertificateSigningRequest>({
  kind: kinds.certificateSigningRequests,
  discovery: {shortNames: ['csr']},
  storage: {alwaysPresent: {status: {}}},
  metadata: {nameProblems: () => []},
  main: {
    metadata: 'both',
    writes: {
      create: ['metadata', 'spec.request', 'spec.signerName', 'spec.expirationSeconds', 'spec.usages'],
      update: ['metadata'],
      owned: ['metadata'],
    },
    prepare(csr, old, {user}) {
      if (old) return;
      // The requester is the authenticated user, whatever the body claims.
      const spec = (csr.spec = {...csr.spec, username: user.name});
      if (user.uid) spec.uid = user.uid;
      spec.groups = [...user.groups];
      const extra = Object.entries(user.extra ?? {}).map(([key, values]): [string, string[]] => [key, [...values]]);
      if (extra.length > 0) spec.extra = Object.fromEntries(extra);
      csr.status = {};
    },
    validate: (csr, old) => (old ? validateUpdate({add: [], editVerdicts: false})(csr, old) : validateSpec(csr)),
  },
  subresources: {
    approval: {
      metadata: 'both',
      writes: {update: ['metadata', 'status.conditions']},
      prepare: fillTimes,
      // Differs from upstream: only the signer reports a failure, through the status.
      validate: validateUpdate({add: ['Approved', 'Denied'], editVerdicts: true}),
    },
    status: {
      metadata: 'both',
      writes: {update: ['metadata', 'status.certificate', 'status.conditions']},
      prepare(csr, old, context) {
        restoreVerdicts(csr, old);
        fillTimes(csr, old, context);
      },
      validate: validateUpdate({add: ['Failed'], editVerdicts: false}),
      counts: countDurations,
    },
  },
  deletion: {response: 'statusAlways'},
  selection: {fields: {'spec.signerName': ({spec}) => spec.signerName ?? ''}},
  presentation: {
    columns: [
      nameColumn,
      ageColumn,
      {name: 'SignerName', description: 'The signer that is asked for the certificate.', of: ({spec}) => spec.signerName || '<none>'},
      {name: 'Requestor', description: 'The user who made the request.', of: ({spec}) => spec.username ?? ''},
      {
        name: 'RequestedDuration',
        description: 'How long the certificate is wanted to be valid; the signer may decide otherwise.',
        of: durationText,
      },
      {name: 'Condition', description: 'What was decided, whether signing failed, and whether there is a certificate.', of: conditionText},
    ],
  },
});
