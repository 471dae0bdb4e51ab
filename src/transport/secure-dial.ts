// Opens TLS connections and verifies the server's certificate with the given clock, as Go does. Nothing is sent to a server that fails verification.

import type {Socket} from 'node:net';
import {connect, type TLSSocket} from 'node:tls';
import type {Clock} from '#src/base/clock.js';
import {parseCertificate, type Certificate} from '#src/pki/certificate.js';
import {trustAnchors, verifyChain, type TrustAnchors} from '#src/pki/chain.js';
import {checkHost} from '#src/pki/host-names.js';
import {pemBlocks} from '#src/pki/encoding/pem.js';
import {systemNetwork} from './network.js';
import {peerChain} from './peer-chain.js';
import type {ClientPair} from './request-credentials.js';

/** How a TLS server is verified, and the client certificate for it. */
export interface BackendTrust {
  /** The trusted CAs; by default the platform's. */
  readonly anchors?: TrustAnchors | undefined;
  /** The name that its certificate must have. */
  readonly serverName: string;
  /** Skips verification. */
  readonly insecure?: boolean;
  /** The client certificate. */
  readonly pair?: ClientPair | undefined;
}

/** The address of a TLS server. */
export interface SecureAddress {
  readonly host: string;
  readonly port: number;
  readonly trust: BackendTrust;
}

const handshakeTimeoutMs = 10_000;

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

/** Connects and performs the TLS handshake, for HTTP/1.1 only. Rejects with the reason as upstream's clients word it; no request was sent then. */
export const dialSecurely = async ({host, port, trust}: SecureAddress, clock: Clock): Promise<TLSSocket> =>
  handshake(await systemNetwork(clock).dial(host, String(port)), trust, clock);

/** Performs the TLS handshake over a connection. Rejects with the reason as upstream's clients word it, and closes the connection. */
export const handshake = (connection: Socket, trust: BackendTrust, clock: Clock): Promise<TLSSocket> =>
  new Promise((resolve, reject) => {
    // The certificate is verified below, with the given clock.
    const socket = connect({
      socket: connection,
      servername: isAddress(trust.serverName) ? '' : trust.serverName,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      ...trust.pair,
    });
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

const checkServer = (socket: TLSSocket, {anchors, serverName}: BackendTrust, now: number): void => {
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

/** The error of a TLS connection, from the platform's error. */
export const tlsError = (error: NodeJS.ErrnoException): Error => {
  const {code = '', message} = error;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new Error('http: server gave HTTP response to HTTPS client', {cause: error});
  const alert = /^ERR_SSL_(?:TLSV1|TLSV13|SSLV3)_ALERT_(.+)$/.exec(code)?.[1];
  if (alert) return new Error(`remote error: tls: ${alert.toLowerCase().replaceAll('_', ' ')}`, {cause: error});
  if (code === 'ECONNRESET' || code === 'EPIPE') return new Error('EOF', {cause: error});
  return new Error(message, {cause: error});
};
