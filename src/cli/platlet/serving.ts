import type {SecureContextOptions, TlsOptions} from 'node:tls';
import {systemFiles} from '#src/base/files/files.js';
import {gateOf} from '#src/options/parsed-options.js';
import {PairStore} from '#src/platlet/certificates/pair-store.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {ensureOwnPair, renewOwnPair} from '#src/serving/certificates/own-pair.js';
import {ServingCertificates} from '#src/serving/certificates/serving-certificates.js';
import {secureLimits} from '#src/serving/certificates/tls-limits.js';
import type {AgentInvocation} from './configuration.js';

/** The certificate that an agent serves with. */
export interface AgentServing {
  readonly tls: TlsOptions;
  /** Where the agent keeps the certificate that the API server issues; absent if it is one of files. */
  readonly servingStore?: PairStore;
  /** Reports later certificates of files. */
  follow(signal: AbortSignal, changed: (options: SecureContextOptions) => void): void;
}

/**
 * Returns what an agent serves with: a certificate of the API server if the configuration wants that, or the configured
 * one, or a self-signed one for the host that is kept in the folder of certificates.
 */
export const agentServing = async (
  {parsed, clock, log}: Pick<AgentInvocation, 'parsed' | 'clock' | 'log'>,
  {tlsCertFile, tlsPrivateKeyFile, tlsMinVersion, tlsCipherSuites, serverTLSBootstrap}: Settings,
  {host, name, signal}: {readonly host: string; readonly name: string; readonly signal: AbortSignal},
): Promise<AgentServing> => {
  const {certDir: folder} = parsed.options;
  const limits = {minVersion: tlsMinVersion, cipherSuites: tlsCipherSuites};
  const configured = tlsCertFile && tlsPrivateKeyFile ? {certFile: tlsCertFile, keyFile: tlsPrivateKeyFile} : undefined;
  if (serverTLSBootstrap && gateOf(parsed)('RotatePlatletServerCertificate')) {
    const servingStore = new PairStore({files: systemFiles, host: systemHost, clock, folder, prefix: `${name}-server`, configured});
    return {tls: secureLimits(limits), servingStore, follow() {}};
  }
  const own = {files: systemFiles, clock, folder, name, host, hosts: []};
  const pair = configured ?? (await ensureOwnPair(own));
  if (!configured) renewOwnPair(own, log, signal);
  const certificates = await ServingCertificates.load({files: systemFiles, clock, log, limits, pair});
  const follows = gateOf(parsed)('ReloadPlatletServerCertificateFile') || !configured;
  return {tls: certificates.tlsOptions, follow: (...args) => (follows ? certificates.follow(...args) : undefined)};
};
