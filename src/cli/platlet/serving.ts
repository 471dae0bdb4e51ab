import {systemFiles} from '#src/base/files/files.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {ensureOwnPair, renewOwnPair} from '#src/serving/certificates/own-pair.js';
import {ServingCertificates} from '#src/serving/certificates/serving-certificates.js';
import type {AgentInvocation} from './configuration.js';

/** Returns the serving certificates of an agent: the configured ones, or a self-signed one for the host that is kept in the folder of certificates. */
export const servingCertificates = async (
  {parsed: {options}, clock, log}: AgentInvocation,
  {tlsCertFile, tlsPrivateKeyFile, tlsMinVersion, tlsCipherSuites}: Settings,
  {host, name, signal}: {readonly host: string; readonly name: string; readonly signal: AbortSignal},
): Promise<ServingCertificates> => {
  const common = {files: systemFiles, clock, log, limits: {minVersion: tlsMinVersion, cipherSuites: tlsCipherSuites} as never};
  if (tlsCertFile && tlsPrivateKeyFile)
    return ServingCertificates.load({...common, pair: {certFile: tlsCertFile, keyFile: tlsPrivateKeyFile}});
  const own = {files: systemFiles, clock, folder: options.certDir, name, host, hosts: []};
  const pair = await ensureOwnPair(own);
  renewOwnPair(own, log, signal);
  return ServingCertificates.load({...common, pair});
};
