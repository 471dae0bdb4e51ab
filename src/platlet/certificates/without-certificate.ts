// Ends an agent that has lost its identity, so that its supervisor can restart it with new credentials.

import {formatDuration} from '#src/api/duration.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {AgentCertificate} from './certificate.js';
import type {CertificateRotation} from './rotation.js';

const lookMs = 10_000;
const patienceMs = 5 * 60_000;

/** Rejects when there was no valid certificate for five minutes although the API server responds. */
export const untilWithoutCertificate = (
  certificate: Pick<AgentCertificate, 'current'>,
  rotation: Pick<CertificateRotation, 'isServerHealthy'>,
  {clock, log, signal}: {readonly clock: Clock; readonly log: Log; readonly signal: AbortSignal},
): Promise<never> =>
  new Promise((_, reject) => {
    let lastSeen = clock.monotonic();
    runEvery(clock, lookMs, signal, () => {
      const now = clock.monotonic();
      if (certificate.current) lastSeen = now;
      if (now < lastSeen + patienceMs) return;
      const since = `It has been ${formatDuration(patienceMs)} since a valid client cert was found`;
      if (rotation.isServerHealthy) reject(new Error(`${since} and the server is responsive, exiting.`));
      else log.error(`${since}, but the server is not responsive. A restart may be necessary to retrieve new initial credentials.`);
    });
  });
