import type {DetailedPeerCertificate, TLSSocket} from 'node:tls';

const longestChain = 10;

/** The certificates the peer presented in DER, its own first. A resumed session lacks all but that, so whoever asks must resume none. */
export const peerChain = (socket: Pick<TLSSocket, 'getPeerCertificate'>): readonly Buffer[] => {
  const chain: Buffer[] = [];
  let certificate = socket.getPeerCertificate(true) as DetailedPeerCertificate | null | undefined;
  while (certificate?.raw && chain.length < longestChain && !chain.some(seen => seen.equals(certificate!.raw))) {
    chain.push(certificate.raw);
    certificate = certificate.issuerCertificate;
  }
  return chain;
};
