// The certificate of the metrics port: one in a directory that others maintain, or a self-signed one in memory.

import {hostname} from 'node:os';
import {join} from 'node:path';
import type {SecureContextOptions} from 'node:tls';
import {runEvery, withClockHeld, type Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {createSelfSignedServing, keyPairPem} from '#src/pki/issuing.js';
import {ServingCertificates} from '#src/serving/certificates/serving-certificates.js';
import {secureLimits} from '#src/serving/certificates/tls-limits.js';
import type {ProgramOptions} from './flags.js';

interface MetricsCertificateParts {
  readonly options: Pick<ProgramOptions, 'metricsCertPath' | 'metricsCertName' | 'metricsCertKey'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** A certificate, and how to follow its changes. */
export interface MetricsCertificate {
  readonly tls: SecureContextOptions;
  /** Reports changes until the signal aborts. */
  follow(signal: AbortSignal, changed: (tls: SecureContextOptions) => void): void;
}

const day = 86_400_000;
const renewBeforeMs = 30 * day;
const checkPeriodMs = day / 2;

/** Returns the certificate that the flags select. Rejects with a one-line error that names the flag. */
export const metricsCertificate = async (parts: MetricsCertificateParts): Promise<MetricsCertificate> => {
  const {metricsCertPath: folder, metricsCertName, metricsCertKey} = parts.options;
  if (folder === '') return selfSigned(parts);
  const pair = {certFile: join(folder, metricsCertName), keyFile: join(folder, metricsCertKey)};
  try {
    const certificates = await ServingCertificates.load({files: systemFiles, clock: parts.clock, log: parts.log, pair});
    return {tls: certificates.contextOptions, follow: (signal, changed) => certificates.follow(signal, changed)};
  } catch (cause) {
    throw new Error(`--metrics-cert-path ${folder}: ${messageOf(cause)}`, {cause});
  }
};

/** A certificate that no client knows: it is for scrapers that do not verify it, and is made anew before it expires. */
const selfSigned = async ({clock, log}: MetricsCertificateParts): Promise<MetricsCertificate> => {
  const made = async () => {
    const pair = await createSelfSignedServing({host: hostname(), hosts: ['localhost', '127.0.0.1', '::1'], now: clock.now()});
    const {certificate, key} = keyPairPem(pair);
    return {tls: {cert: certificate, key, ...secureLimits({})}, notAfter: pair.chain[0].notAfter};
  };
  let current = await made();
  return {
    tls: current.tls,
    follow: (signal, changed) =>
      runEvery(clock, checkPeriodMs, signal, () =>
        withClockHeld(clock, async () => {
          if (current.notAfter - clock.now() > renewBeforeMs) return;
          current = await made();
          changed(current.tls);
          log.info('made a new certificate for metrics');
        }),
      ),
  };
};
