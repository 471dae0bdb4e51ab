import type {PeerCertificate} from 'node:tls';

/** Failures of a handshake by Node's codes, told as clients of the original know them. */
const refusals: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'certificate has expired or is not yet valid',
  CERT_NOT_YET_VALID: 'certificate has expired or is not yet valid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'certificate signed by unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'certificate signed by unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'certificate signed by unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'certificate signed by unknown authority',
  CERT_SIGNATURE_FAILURE: 'certificate signed by unknown authority',
};

const broken: Readonly<Record<string, string>> = {
  ECONNRESET: 'EOF',
  EPIPE: 'write: broken pipe',
  HPE_HEADER_OVERFLOW: 'net/http: server response headers exceeded the limit; aborted',
};

/** Which names a certificate has, as a refusal lists them. */
const namesOf = ({subjectaltname = ''}: Partial<PeerCertificate> = {}): string[] =>
  subjectaltname
    .split(',')
    .map(name => name.trim().replace(/^(DNS|IP Address):/, ''))
    .filter(Boolean);

const misnamed = (certificate: PeerCertificate | undefined, name: string): string => {
  const names = namesOf(certificate);
  if (names.length > 0) return `certificate is valid for ${names.join(', ')}, not ${name}`;
  return `certificate is not valid for any names, but wanted to match ${name}`;
};

/** Why a handshake failed. */
export const tlsWords = (error: NodeJS.ErrnoException & {readonly cert?: PeerCertificate}, name: string): Error => {
  const {code = '', message, cert} = error;
  const refusal = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? misnamed(cert, name) : refusals[code];
  if (refusal) return new Error(`tls: failed to verify certificate: x509: ${refusal}`, {cause: error});
  if (code === 'EPROTO' || code.startsWith('ERR_SSL')) return new Error(protocolWords(message), {cause: error});
  return exchangeWords(error);
};

const protocolWords = (message: string): string => {
  if (/wrong version number|packet length too long|http request/i.test(message)) return 'http: server gave HTTP response to HTTPS client';
  const alert = /alert ([a-z ]+?)(?::|$)/i.exec(message)?.[1];
  return alert ? `remote error: tls: ${alert.trim()}` : `tls: ${message.split('\n', 1)[0]}`;
};

/** Why a request was not answered, once there was a connection. */
export const exchangeWords = (error: NodeJS.ErrnoException): Error => {
  const {code = '', message} = error;
  if (code.startsWith('HPE_') && code !== 'HPE_HEADER_OVERFLOW') return new Error(`malformed HTTP response: ${message.replace(/^Parse Error: /, '')}`, {cause: error});
  const words = broken[code];
  return words ? new Error(words, {cause: error}) : error;
};
