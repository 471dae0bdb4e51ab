import type {DetailedPeerCertificate, TLSSocket} from 'node:tls';

const maxChainLength = 10;

/**
 * Returns the peer's certificates in DER, its own first. After session resumption only that one is available, so
 * servers that need the chain must disable resumption.
 */
export const peerChain = (socket: Pick<TLSSocket, 'getPeerCertificate'>): readonly Buffer[] => {
  const chain: Buffer[] = [];
  let certificate = socket.getPeerCertificate(true) as DetailedPeerCertificate | null | undefined;
  while (certificate?.raw && chain.length < maxChainLength && !chain.some(seen => seen.equals(certificate!.raw))) {
    chain.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return chain;
};
