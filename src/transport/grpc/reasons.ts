import {messageOf} from '#src/base/message.js';
import {tlsError} from '#src/transport/error-words.js';
import {dialError} from '#src/transport/network.js';

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

/** The error of a server's certificate; undefined for other errors. */
const certificateProblem = ({code = '', message}: NodeJS.ErrnoException): string | undefined => {
  if (unknownAuthority.has(code)) return 'x509: certificate signed by unknown authority';
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') return 'x509: certificate has expired or is not yet valid';
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? message : undefined;
};

/** The reason of a failed connection, worded as upstream's clients do. */
export const connectionReason = (server: string, error: unknown): string => {
  if (!(error instanceof Error)) return messageOf(error);
  const {syscall, code} = error as NodeJS.ErrnoException;
  const {hostname, port, protocol} = new URL(server);
  if (syscall === 'connect' || syscall === 'getaddrinfo')
    return `transport: Error while dialing: ${dialError(hostname.replace(/^\[|\]$/g, ''), port, error).message}`;
  const problem = certificateProblem(error);
  if (problem) return `transport: authentication handshake failed: tls: failed to verify certificate: ${problem}`;
  // A server without TLS, or one with TLS that closes a connection without it.
  if (code === 'ECONNRESET' && protocol === 'https:') return 'transport: authentication handshake failed: EOF';
  return tlsError(error).message;
};
