import {invalid, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {parseTime, wireTime} from '#src/api/time.js';
import type {PodCertificateRequest} from '#src/api/kinds/certificates.js';
import {parseCertificate, type Certificate} from '#src/pki/certificate.js';
import {sameKey} from '#src/pki/keys/keys.js';
import {pemBlocks, type PemBlock} from '#src/pki/encoding/pem.js';
import {publicKeyOf} from '#src/pki/keys/possession.js';
import type {HookContext} from '#src/resources/definition.js';

const chainPath = 'status.certificateChain';
const beforePath = 'status.notBefore';
const afterPath = 'status.notAfter';
const refreshPath = 'status.beginRefreshAt';
const largestChain = 100 * 1024;
const minute = 60_000;
const nanosInMs = 1e6;

const parsed = ({bytes}: PemBlock): Certificate | undefined => {
  try {
    return parseCertificate(bytes);
  } catch {
    return undefined;
  }
};

const atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\u0080-\\uffff-]+";
const dotAtom = `${atom}(?:\\.${atom})*`;
const address = `(?:${dotAtom}|"(?:[^"\\\\]|\\\\.)*")@(?:${dotAtom}|\\[[^\\]\\[\\\\]*\\])`;
const isMailAddress = new RegExp(`^\\s*(?:${address}|(?:"(?:[^"\\\\]|\\\\.)*"|[^<>@",;:\\\\]*)<${address}>)\\s*$`);

function* validateNames({dnsNames, emailAddresses}: Certificate): Iterable<FieldError> {
  for (const name of dnsNames) {
    if (name === '') yield invalid(chainPath, name, 'leaf certificate should not contain empty DNSName');
    if (name.includes('..')) yield invalid(chainPath, name, "leaf certificate's DNSName should not contain '..'");
    if (name.startsWith('.') || name.endsWith('.'))
      yield invalid(chainPath, name, "leaf certificate's DNSName should not start or end with '.'");
  }
  for (const mail of emailAddresses) {
    if (!isMailAddress.test(mail)) yield invalid(chainPath, mail, 'leaf certificate should not contain invalid EmailAddress');
  }
}

const isIssuedTo = (leaf: Certificate, pkixPublicKey: string): boolean => {
  const wanted = publicKeyOf(Buffer.from(pkixPublicKey, 'base64'));
  try {
    return wanted !== undefined && leaf.publicKey !== undefined && sameKey(wanted, leaf.publicKey);
  } catch {
    return false;
  }
};

interface Times {
  readonly notBefore: number;
  readonly notAfter: number;
  readonly beginRefreshAt: number;
}

/** Returns the first error of the times; each one depends on those before it. */
const timeProblem = (
  {notBefore, notAfter, beginRefreshAt}: Times,
  leaf: Certificate,
  maxSeconds: number,
  {clock, naming}: HookContext,
): FieldError | undefined => {
  const wrong = (path: string, time: number, detail: string) => invalid(path, wireTime(time), detail);
  if (notBefore !== leaf.notBefore)
    return wrong(beforePath, notBefore, 'must be set to the NotBefore time encoded in the leaf certificate');
  if (Math.abs(notBefore - clock.now()) >= 5 * minute)
    return wrong(beforePath, notBefore, `must be set to within 5 minutes of ${naming.component('apiserver')}'s current time`);
  if (notAfter !== leaf.notAfter) return wrong(afterPath, notAfter, 'must be set to the NotAfter time encoded in the leaf certificate');
  const life = notAfter - notBefore;
  if (life < 60 * minute) return invalid(chainPath, life * nanosInMs, 'leaf certificate lifetime must be >= 1 hour');
  if (life > maxSeconds * 1000)
    return invalid(chainPath, life * nanosInMs, `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${maxSeconds})`);
  if (beginRefreshAt < notBefore + 10 * minute)
    return wrong(refreshPath, beginRefreshAt, 'must be at least 10 minutes after status.notBefore');
  if (beginRefreshAt > notAfter - 10 * minute)
    return wrong(refreshPath, beginRefreshAt, 'must be at least 10 minutes before status.notAfter');
  return undefined;
};

function* validateTimes(
  {spec, status = {}}: Readonly<PodCertificateRequest>,
  leaf: Certificate,
  context: HookContext,
): Iterable<FieldError> {
  const [notBefore, notAfter, beginRefreshAt] = [status.notBefore, status.notAfter, status.beginRefreshAt].map(time =>
    parseTime(time ?? undefined),
  );
  const consistent = 'must be present and consistent with the issued certificate';
  if (notBefore === undefined) yield required(beforePath, consistent);
  if (notAfter === undefined) yield required(afterPath, consistent);
  if (beginRefreshAt === undefined) yield required(refreshPath, 'must be present and in the range [notbefore+10min, notafter-10min]');
  if (notBefore === undefined || notAfter === undefined || beginRefreshAt === undefined) return;
  const problem = timeProblem({notBefore, notAfter, beginRefreshAt}, leaf, spec.maxExpirationSeconds ?? 0, context);
  if (problem) yield problem;
}

const otherProblem = (block: PemBlock): string | undefined => {
  // The misspelling is the original's.
  if (block.label !== 'CERTIFICATE') return 'issued certificate chain must consist entirely of CERTFICATE PEM blocks';
  return parsed(block) ? undefined : 'intermediate certificate does not parse as valid X.509';
};

const leafProblem = (block: PemBlock | undefined): string | undefined => {
  if (!block) return 'issued certificate chain must contain at least one certificate';
  if (block.label !== 'CERTIFICATE') return 'issued certificate chain must consist entirely of CERTIFICATE PEM blocks';
  return parsed(block) ? undefined : 'leaf certificate does not parse as valid X.509';
};

/** Validates the issued certificate against the request: its key, its lifetime, and time left to renew it. */
export function* validateIssued(request: Readonly<PodCertificateRequest>, context: HookContext): Iterable<FieldError> {
  const chain = request.status?.certificateChain ?? '';
  if (Buffer.byteLength(chain) > largestChain) return yield tooLong(chainPath, largestChain);
  const [first, ...others] = pemBlocks(Buffer.from(chain));
  const leaf = first && parsed(first);
  const problem = leafProblem(first);
  if (problem || !leaf) return yield invalid(chainPath, chain, problem ?? '');
  const names = [...validateNames(leaf)];
  yield* names;
  if (!isIssuedTo(leaf, request.spec.pkixPublicKey))
    return yield invalid(chainPath, chain, 'leaf certificate was not issued to the requested public key');
  const times = [...validateTimes(request, leaf, context)];
  yield* times;
  if (times.length > 0) return;
  const unfit = others.map(otherProblem).find(text => text !== undefined);
  if (unfit) yield invalid(chainPath, chain, unfit);
}
