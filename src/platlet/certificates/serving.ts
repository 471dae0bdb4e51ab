// The certificate that an agent serves with when the API server issues it.

import type {SecureContextOptions} from 'node:tls';
import type {Naming} from '#src/api/naming.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {CertificateManager, type CertificateManagerParts} from './manager.js';
import {observeLifetime, servingRenewals} from './metrics.js';
import type {StoredPair} from './pair-store.js';
import {servingTemplate} from './template.js';

export interface ServingParts extends Pick<CertificateManagerParts, 'store' | 'clock' | 'random' | 'log' | 'meter' | 'signal'> {
  readonly nodeName: string;
  readonly naming: Naming;
  readonly client: Client;
  /** Returns the addresses that the node reports. */
  addresses(): readonly {readonly type: string; readonly address: string}[];
  /** Whether a certificate without IP addresses is requested, too. */
  readonly allowsNamesAlone: boolean;
}

/** The certificate of a port, which may come later. */
export interface ServingCertificate {
  /** Nothing as long as there is none: then handshakes fail. */
  readonly contextOptions: SecureContextOptions;
  /** Requests the certificate, renews it until the agent stops, and calls `changed` with each new one. */
  follow(changed: (options: SecureContextOptions) => void): void;
}

/** Opens the certificate of an agent. Rejects if its file cannot be used. */
export const openServingCertificate = async (parts: ServingParts): Promise<ServingCertificate> => {
  const {nodeName, naming, client, addresses, allowsNamesAlone, store, clock, random, log, meter, signal} = parts;
  const manager = await CertificateManager.open({
    store,
    clock,
    random,
    log,
    meter,
    signal,
    ...servingRenewals(meter, naming.agent),
    use: 'server auth',
    template: () => servingTemplate(nodeName, addresses(), allowsNamesAlone),
    requester: () => Promise.resolve({client, signerName: naming.signers.agentServing}),
  });
  const shown = observeLifetime(parts, naming.agent, 'server', manager);
  onAbort(signal, () => shown[Symbol.dispose]());
  return {
    get contextOptions() {
      return manager.current ? contextOf(manager.current) : {};
    },
    follow(changed) {
      manager.onChange(pair => changed(contextOf(pair)));
      manager.start();
    },
  };
};

const contextOf = ({certificate, key}: StoredPair): SecureContextOptions => ({cert: certificate, key});
