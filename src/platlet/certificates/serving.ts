// The serving certificate of an agent, issued by the API server.

import type {SecureContextOptions} from 'node:tls';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {AgentCertificate} from './certificate.js';
import {observeLifetime, servingRenewals} from './metrics.js';
import type {PairStore, StoredPair} from './pair-store.js';
import {CertificateRequester} from './requester.js';
import {CertificateRotation} from './rotation.js';
import {servingTemplate} from './template.js';

export interface ServingParts {
  readonly store: PairStore;
  readonly nodeName: string;
  readonly naming: Naming;
  readonly client: Client;
  /** Returns the addresses that the node reports. */
  addresses(): readonly {readonly type: string; readonly address: string}[];
  /** Whether a certificate without IP addresses may be requested. */
  readonly allowsNamesAlone: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly signal: AbortSignal;
}

/** The certificate of a port, which may be issued later. */
export interface ServingCertificate {
  /** Returns undefined before the certificate is issued: TLS handshakes fail until then. */
  readonly contextOptions: SecureContextOptions;
  /** Requests the certificate and rotates it until the agent stops. Calls `changed` with each new one. */
  follow(changed: (options: SecureContextOptions) => void): void;
}

/** Opens the serving certificate of an agent. Rejects if its file cannot be used. */
export const openServingCertificate = async (parts: ServingParts): Promise<ServingCertificate> => {
  const {nodeName, naming, client, addresses, allowsNamesAlone, store, clock, random, log, meter, signal} = parts;
  const certificate = await AgentCertificate.open(store, clock);
  const signer = () => ({client, signerName: naming.signers.agentServing});
  const rotation = new CertificateRotation({
    certificate,
    requester: new CertificateRequester({use: 'server auth', signer, clock, random, log, signal}),
    template: () => servingTemplate(nodeName, addresses(), allowsNamesAlone),
    renewals: servingRenewals(meter, naming.agent),
    clock,
    random,
    log,
    signal,
  });
  const shown = observeLifetime(parts, naming.agent, 'server', certificate);
  onAbort(signal, () => shown[Symbol.dispose]());
  return {
    get contextOptions() {
      return certificate.current ? contextOf(certificate.current) : {};
    },
    follow(changed) {
      rotation.onChange(pair => changed(contextOf(pair)));
      rotation.start();
    },
  };
};

const contextOf = ({certificate, key}: StoredPair): SecureContextOptions => ({cert: certificate, key});
