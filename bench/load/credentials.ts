import {readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {naming} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {planeMaterial, type PlaneMaterial} from '#src/plane/inputs/material.js';
import {planeServingCertificate} from '#src/plane/api-server/serving-certificate.js';
import type {Server} from './programs.js';

/** The files that servers of one cluster share. */
export interface Credentials {
  readonly files: PlaneMaterial['files'];
  readonly servingCert: string;
  readonly servingKey: string;
  readonly pki: Server['pki'];
}

/** Makes the keys and certificates of a cluster below a directory, or returns those that are there. */
export const clusterCredentials = async (directory: string): Promise<Credentials> => {
  const {authority, files} = await planeMaterial(join(directory, 'pki'), systemClock);
  const {cert, key} = await planeServingCertificate(authority, {clock: systemClock, naming: naming('kubernetes'), hosts: []});
  const [servingCert, servingKey] = [join(directory, 'serving.crt'), join(directory, 'serving.key')];
  writeFileSync(servingCert, String(cert));
  writeFileSync(servingKey, String(key), {mode: 0o600});
  const read = (path: string) => readFileSync(path, 'utf8');
  return {files, servingCert, servingKey, pki: {ca: read(files.ca), cert: read(files.admin), key: read(files.adminKey)}};
};

/** The flags of an API server that serves with these credentials on a port of the loopback address. */
export const servingFlags = ({files, servingCert, servingKey}: Credentials, port: number): string[] => [
  '--bind-address=127.0.0.1',
  `--secure-port=${port}`,
  `--client-ca-file=${files.ca}`,
  `--tls-cert-file=${servingCert}`,
  `--tls-private-key-file=${servingKey}`,
  `--service-account-key-file=${files.serviceAccountPublic}`,
  `--service-account-signing-key-file=${files.serviceAccountKey}`,
  '--service-account-issuer=https://kubernetes.default.svc',
  '--service-cluster-ip-range=10.96.0.0/16',
  '--authorization-mode=Node,RBAC',
];
