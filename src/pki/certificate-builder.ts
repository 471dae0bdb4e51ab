import {randomBytes, type KeyObject} from 'node:crypto';
import {runSteps, type Steps} from '#src/base/steps.js';
import {buildAlternativeNamesInSteps, hasAlternativeNames, noAlternativeNames, type AlternativeNames} from './alternative-names.js';
import {tags} from '#src/pki/encoding/der.js';
import {bits, integer, sequence, time, wrapped} from '#src/pki/encoding/der-builder.js';
import {
  buildAlternativeNamesExtension,
  buildAuthorityKeyIdentifier,
  buildBasicConstraints,
  buildExtendedUsages,
  buildKeyUsage,
  buildSubjectKeyIdentifier,
  type BasicConstraints,
} from './extensions.js';
import type {Validity} from './lifetime.js';
import {buildNameInSteps, type Subject} from './names.js';
import {authorityAlgorithm, buildSignatureAlgorithm, signBytes} from '#src/pki/keys/signatures.js';
import type {CertificateUsages} from './usages.js';

/** The content of a certificate to be issued. */
export interface CertificateTemplate {
  readonly subject: Subject;
  readonly validity: Validity;
  /** SubjectPublicKeyInfo in DER. */
  readonly publicKeyInfo: Buffer;
  readonly usages: CertificateUsages;
  readonly names?: AlternativeNames;
  readonly basicConstraints: BasicConstraints;
  readonly subjectKeyIdentifier?: Buffer;
}

/** The issuer: its private key, name and key identifier. Without a name the certificate is self-signed. */
export interface Issuer {
  readonly key: KeyObject;
  readonly name?: Buffer;
  readonly keyIdentifier?: Buffer | undefined;
}

const extensionsOf = function* (
  template: CertificateTemplate,
  authorityKeyIdentifier: Buffer | undefined,
  subjectIsEmpty: boolean,
): Steps<Buffer[]> {
  const {usages, basicConstraints, subjectKeyIdentifier, names = noAlternativeNames} = template;
  return [
    ...(usages.bits.length > 0 ? [buildKeyUsage(usages.bits)] : []),
    ...(usages.extendedOids.length > 0 ? [buildExtendedUsages(usages.extendedOids)] : []),
    buildBasicConstraints(basicConstraints),
    ...(subjectKeyIdentifier ? [buildSubjectKeyIdentifier(subjectKeyIdentifier)] : []),
    ...(authorityKeyIdentifier ? [buildAuthorityKeyIdentifier(authorityKeyIdentifier)] : []),
    ...(hasAlternativeNames(names) ? [buildAlternativeNamesExtension(yield* buildAlternativeNamesInSteps(names), subjectIsEmpty)] : []),
  ];
};

/** Returns a random serial number of 128 bits. */
const randomSerial = (): bigint => BigInt(`0x${randomBytes(16).toString('hex')}`);

/** Builds a version 3 certificate in DER, signed by `issuer` with the algorithm of its key. */
export const buildCertificate = (template: CertificateTemplate, issuer: Issuer): Buffer =>
  runSteps(buildCertificateInSteps(template, issuer));

/** The same in steps: a subject may have very many names. */
export const buildCertificateInSteps = function* (template: CertificateTemplate, issuer: Issuer): Steps<Buffer> {
  const {validity} = template;
  const subject = yield* buildNameInSteps(template.subject);
  yield;
  const issuerName = issuer.name ?? subject;
  const subjectIsEmpty = subject.length === 2;
  const authorityKeyIdentifier = issuerName.equals(subject) ? undefined : issuer.keyIdentifier;
  const algorithm = authorityAlgorithm(issuer.key);
  const extensions = yield* extensionsOf(template, authorityKeyIdentifier, subjectIsEmpty);
  yield;
  const body = sequence(
    wrapped(tags.contextConstructed(0), integer(2n)),
    integer(randomSerial()),
    buildSignatureAlgorithm(algorithm),
    issuerName,
    sequence(time(validity.notBefore), time(validity.notAfter)),
    subject,
    template.publicKeyInfo,
    wrapped(tags.contextConstructed(3), sequence(...extensions)),
  );
  yield;
  return sequence(body, buildSignatureAlgorithm(algorithm), bits(signBytes(algorithm, body, issuer.key)));
};
