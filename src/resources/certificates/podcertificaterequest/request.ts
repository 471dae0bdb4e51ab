import type {KeyObject} from 'node:crypto';
import {invalid, invalidUnshown, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems} from '#src/api/names.js';
import type {Naming} from '#src/api/naming.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {provesPossession, publicKeyOf} from '#src/pki/keys/possession.js';
import {validateSignerName} from '#src/resources/certificates/signer-name.js';
import {certificateLife, validateUserAnnotations} from '#src/resources/certificates/user-annotations.js';
import {each} from '#src/resources/validation/values.js';

type Spec = Partial<PodCertificateRequest['spec']>;

const keyPath = 'spec.pkixPublicKey';
const proofPath = 'spec.proofOfPossession';
const longestUid = 128;
const largestKey = 10 * 1024;

function* validateIdentity(path: string, name: string, uid: string): Iterable<FieldError> {
  yield* each(`${path}Name`, name, dnsSubdomainProblems(name));
  if (!uid) yield invalid(`${path}UID`, uid, 'must not be empty');
  if (Buffer.byteLength(uid) > longestUid) yield tooLong(`${path}UID`, longestUid);
}

function* validateLife(seconds: number, signer: string, naming: Naming): Iterable<FieldError> {
  const {least, most} = certificateLife(signer, naming);
  if (seconds < least || seconds > most) yield invalid('spec.maxExpirationSeconds', seconds, `must be in the range [${least}, ${most}]`);
}

/** Returns why a key is not accepted; `shown` is its value in the error. */
const keyProblem = (key: KeyObject, shown: string): FieldError | undefined => {
  const {namedCurve, modulusLength = 0} = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return undefined;
    case 'ec':
      return namedCurve === 'secp224r1' ? invalid(keyPath, 'curve P-224', 'elliptic public keys must use curve P256 or P384') : undefined;
    case 'rsa': {
      const bits = Math.ceil(modulusLength / 8) * 8;
      return bits === 3072 || bits === 4096
        ? undefined
        : invalid(keyPath, `${bits}-bit modulus`, 'RSA keys must have modulus size 3072 or 4096');
    }
    default:
      return invalid(keyPath, shown, 'unknown public key type; supported types are Ed25519, ECDSA, and RSA');
  }
};

function* validateKey({pkixPublicKey = '', proofOfPossession = '', podUID = ''}: Readonly<Spec>): Iterable<FieldError> {
  const [info, proof] = [Buffer.from(pkixPublicKey, 'base64'), Buffer.from(proofOfPossession, 'base64')];
  if (info.length > largestKey) return yield tooLong(keyPath, largestKey);
  if (proof.length > largestKey) return yield tooLong(proofPath, largestKey);
  const key = publicKeyOf(info);
  if (!key) return yield invalid(keyPath, pkixPublicKey, 'must be a valid PKIX-serialized public key');
  const problem = keyProblem(key, pkixPublicKey);
  if (problem) yield problem;
  else if (!provesPossession(key, Buffer.from(podUID), proof))
    yield invalidUnshown(proofPath, 'could not verify proof-of-possession signature');
}

/** Validates that a new request is complete and its proof of possession is valid. */
export function* validateRequest(spec: Readonly<Spec>, naming: Naming): Iterable<FieldError> {
  const {signerName = '', maxExpirationSeconds} = spec;
  yield* validateSignerName('spec.signerName', signerName);
  yield* validateUserAnnotations(spec.unverifiedUserAnnotations ?? {}, 'spec.unverifiedUserAnnotations');
  yield* validateIdentity('spec.pod', spec.podName ?? '', spec.podUID ?? '');
  yield* validateIdentity('spec.serviceAccount', spec.serviceAccountName ?? '', spec.serviceAccountUID ?? '');
  yield* validateIdentity('spec.node', spec.nodeName ?? '', spec.nodeUID ?? '');
  if (maxExpirationSeconds === undefined) return yield required('spec.maxExpirationSeconds', 'must be set');
  yield* validateLife(maxExpirationSeconds, signerName, naming);
  yield* validateKey(spec);
}
