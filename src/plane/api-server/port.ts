import {readFileSync} from 'node:fs';
import {isIP} from 'node:net';
import {join} from 'node:path';
import type {SecureContextOptions} from 'node:tls';
import type {Naming} from '#src/api/naming.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import {aborted} from '#src/base/signals.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {RunningApiServer} from './api-server.js';
import type {AdminSettings} from '#src/plane/kubeconfig/settings.js';
import type {PlaneMaterial} from '#src/plane/inputs/material.js';
import {secureLimits} from '#src/serving/certificates/tls-limits.js';
import {openServingCertificates} from '#src/plane/component/serving-files.js';
import {endpoint} from '#src/transport/network.js';
import {advertisedAddress, firstServiceAddress, reachableHost} from './addresses.js';
import {podAccessAt, type PodAccess} from './pod-access.js';
import {planeServingCertificate, renewAfterMs} from './serving-certificate.js';
import {hostPort, openSockets, type Sockets} from './sockets.js';

export interface PlanePortParts {
  readonly options: ApiserverOptions;
  readonly material: PlaneMaterial;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  /** Whether pods of this machine have to reach it, and the ranges of their addresses. */
  readonly podRanges?: readonly string[] | undefined;
  /** Flags given explicitly. */
  readonly given: ReadonlySet<string>;
  gate(name: string): boolean;
}

/** Flags with which the plane serves with certificates of files instead of those that it issues. */
const certificateFlags = ['tls-cert-file', 'tls-private-key-file', 'tls-sni-cert-key', 'cert-dir'];

/** The certificates of a port: where they come from first, and how the port gets later ones. */
interface PortCertificates {
  readonly tls: SecureContextOptions;
  /** CAs besides the plane's that clients need to trust. */
  readonly authorities: string;
  follow(listener: {setSecureContext(context: SecureContextOptions): void}, signal: AbortSignal): void;
}

/** The HTTPS port of a plane, whose certificate is renewed in time. */
export interface PlanePort extends Pick<Sockets, 'reportWaiting' | 'serve'> {
  /** `host:port` by which clients on this machine reach it. */
  readonly address: string;
  /** `host:port` by which pods of this machine reach it, where that is another address. */
  readonly podAddress?: string;
  /** The administrator's connection settings. */
  readonly settings: AdminSettings;
  /** Stops gracefully, as the options specify. */
  stop(running: RunningApiServer): Promise<void>;
  /** Closes at once; does nothing after `stop`. */
  close(): Promise<void>;
}

/**
 * The interval of checks whether the serving certificate is due for renewal; failed renewals are retried at the same
 * interval.
 */
const renewalCheckMs = 3_600_000;

/** Certificates that the plane's CA issues, and renews in time. */
const issuedCertificates = async (
  {options, material: {authority}, naming, clock}: PlanePortParts,
  podAccess: PodAccess | undefined,
): Promise<PortCertificates> => {
  const certificate = async () => ({
    ...secureLimits({minVersion: options.tlsMinVersion, cipherSuites: options.tlsCipherSuites}),
    ...(await planeServingCertificate(authority, {
      clock,
      naming,
      hosts: [
        firstServiceAddress(options),
        options.bindAddress,
        options.externalHostname,
        reachableHost(options) ?? '',
        podAccess?.host ?? '',
      ].filter(Boolean),
    })),
  });
  return {
    tls: await certificate(),
    authorities: '',
    follow(listener, signal) {
      let renewAt = clock.now() + renewAfterMs;
      runEvery(clock, renewalCheckMs, signal, async () => {
        if (clock.now() < renewAt) return;
        listener.setSecureContext(await certificate());
        renewAt = clock.now() + renewAfterMs;
      });
    },
  };
};

/** Certificates of the files that flags name, which are followed. */
const configuredCertificates = async ({options, naming, clock, log}: PlanePortParts, signal: AbortSignal): Promise<PortCertificates> => {
  const certificates = await openServingCertificates({options, naming, files: systemFiles, clock, log, name: 'apiserver', signal});
  return {
    tls: certificates.tlsOptions,
    authorities: readFileSync(options.tlsCertFile || join(options.certDir, 'apiserver.crt'), 'utf8'),
    follow: (listener, following) => certificates.follow(following, context => listener.setSecureContext(context)),
  };
};

/** How pods reach the port, if it is at an address that they do not reach. */
const podAccessOf = ({options, podRanges, clock}: PlanePortParts): PodAccess | undefined => {
  if (!podRanges || !isLoopback(options.bindAddress)) return undefined;
  const host = advertisedAddress(options, isIP(options.bindAddress) === 6 ? 'IPv6' : 'IPv4');
  return isLoopback(host) ? undefined : podAccessAt(host, podRanges, clock);
};

export const openPlanePort = async (parts: PlanePortParts): Promise<PlanePort> => {
  const {options, material, given} = parts;
  const {files} = material;
  const over = new AbortController();
  const isConfigured = certificateFlags.some(flag => given.has(flag));
  const podAccess = podAccessOf(parts);
  const certificates = await (isConfigured ? configuredCertificates(parts, over.signal) : issuedCertificates(parts, podAccess));
  const sockets = await openSockets({...parts, options, tls: certificates.tls, podAccess});
  certificates.follow(sockets.listener, over.signal);
  const address = hostPort(sockets);
  return {
    reportWaiting: sockets.reportWaiting,
    serve: sockets.serve,
    address,
    ...(podAccess ? {podAddress: endpoint(podAccess.host, address.slice(address.lastIndexOf(':') + 1))} : {}),
    settings: {
      server: `https://${address}`,
      ca: `${readFileSync(files.ca, 'utf8')}${certificates.authorities}`,
      certificate: readFileSync(files.admin, 'utf8'),
      key: readFileSync(files.adminKey, 'utf8'),
    },
    stop(running) {
      over.abort(aborted);
      return sockets.stop(running);
    },
    close() {
      over.abort(aborted);
      return sockets.listener.close();
    },
  };
};
