// Performs the TLS handshake on an outgoing connection and verifies the server's certificate with the given clock, as
// Go does. Nothing is sent to a server that fails verification.

import type {Duplex} from 'node:stream';
import {connect, type TLSSocket} from 'node:tls';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {parseCertificate, type Certificate} from '#src/pki/certificate.js';
import {trustAnchors, verifyChain, type TrustAnchors} from '#src/pki/chain.js';
import {checkHost} from '#src/pki/host-names.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';
import {tlsError} from './error-words.js';
import {peerChain} from './peer-chain.js';
import type {ClientPair} from './request-credentials.js';

/** How a TLS server is verified, and what it is offered. */
export interface ServerTrust {
  /** The trusted CAs; by default the platform's. */
  readonly anchors?: TrustAnchors | undefined;
  /** The name that its certificate must have. */
  readonly serverName: string;
  /** Skips verification. */
  readonly insecure?: boolean;
  /** The client certificate. */
  readonly pair?: ClientPair | undefined;
  /** The protocols that are offered to it, in order of preference (ALPN). Default: HTTP/1.1. */
  readonly protocols?: readonly string[] | undefined;
}

const handshakeTimeoutMs = 10_000;

/**
 * The options of a TLS context that trusts nobody, for peers that are verified here or not at all. Without them Node.js
 * would read the platform's CAs, which takes some 30 ms once a process.
 */
export const noPlatformAnchors: {readonly ca: string[]} = {ca: []};

/** Returns the certificates of a PEM bundle; other blocks are ignored. Throws when it has none. */
export const readAnchors = (pem: string): TrustAnchors => {
  const found: Certificate[] = [];
  let problem = pem.trim() === '' ? 'no valid certificate authority data seen' : 'unable to parse bytes as PEM block';
  for (const {label, bytes} of pemBlocks(pem)) {
    if (label !== 'CERTIFICATE') {
      problem = 'no valid certificate authority data seen';
      continue;
    }
    try {
      found.push(parseCertificate(bytes));
    } catch (error) {
      problem = `failed to parse certificate: ${(error as Error).message}`;
    }
  }
  if (found.length === 0) throw new Error(`unable to load root certificates: ${problem}`);
  return trustAnchors(found);
};

/**
 * Performs the TLS handshake over a connection. Rejects with the reason as upstream's clients word it, and closes the
 * connection.
 */
export const handshake = (connection: Duplex, trust: ServerTrust, clock: Clock): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    // The certificate is verified below, with the given clock.
    const options = {
      socket: connection,
      servername: isAddress(trust.serverName) ? '' : trust.serverName,
      rejectUnauthorized: false,
      ALPNProtocols: [...(trust.protocols ?? ['http/1.1'])],
      ...trust.pair,
      ...(trust.anchors || trust.insecure ? noPlatformAnchors : {}),
    };
    const socket = confineErrors(connect(options));
    const end = (error: Error): void => {
      timer[Symbol.dispose]();
      socket.off('error', fail);
      socket.on('error', () => {});
      socket.destroy();
      connection.destroy();
      reject(error);
    };
    const fail = (error: Error): void => end(tlsError(error));
    const timer = clock.schedule(handshakeTimeoutMs, () => end(new Error('net/http: TLS handshake timeout')));
    const closed = (): void => end(new Error('EOF'));
    socket.once('close', closed);
    socket.on('error', fail);
    socket.once('secureConnect', () => {
      try {
        if (!trust.insecure) checkServer(socket, trust, clock.now());
      } catch (error) {
        return end(new Error(`tls: failed to verify certificate: ${(error as Error).message}`, {cause: error}));
      }
      timer[Symbol.dispose]();
      socket.off('close', closed);
      socket.off('error', fail);
      resolve(socket);
    });
  });

const checkServer = (socket: TLSSocket, {anchors, serverName}: ServerTrust, now: number): void => {
  const [leaf, ...intermediates] = peerChain(socket).map(parseCertificate);
  if (!leaf) throw new Error('x509: certificate signed by unknown authority');
  if (anchors) {
    const outcome = verifyChain(leaf, {anchors, intermediates, usage: 'server auth', now});
    if (!outcome.verified) throw new Error(outcome.message);
  } else if (!socket.authorized && platformRefusal(socket) !== 'ERR_TLS_CERT_ALTNAME_INVALID')
    throw new Error('x509: certificate signed by unknown authority');
  if (leaf.dnsNames.length + leaf.ipAddresses.length === 0 && leaf.subject.commonName && !isAddress(serverName))
    throw new Error('x509: certificate relies on legacy Common Name field, use SANs instead');
  if (isAddress(serverName) && leaf.ipAddresses.length === 0)
    throw new Error(`x509: cannot validate certificate for ${serverName} because it doesn't contain any IP SANs`);
  checkHost(leaf, serverName);
};

const isAddress = (host: string): boolean => /^\d+\.\d+\.\d+\.\d+$/.test(host) || host.includes(':');

const platformRefusal = ({authorizationError}: TLSSocket): string =>
  (authorizationError as unknown as NodeJS.ErrnoException | null)?.code ?? String(authorizationError);
