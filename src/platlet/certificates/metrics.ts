import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import type {AgentCertificate} from './certificate.js';
import type {Renewals} from './rotation.js';

const hour = 3600;
const day = 24 * hour;
const month = 30 * day;

/** Returns the metrics of failed rotations of a client certificate. `agent` is the prefix of metric names. */
export const clientRenewals = (meter: Meter, agent: string): Renewals => {
  const errors = meter.counter({
    name: `${agent}_certificate_manager_client_expiration_renew_errors`,
    help: 'The attempts to renew the client certificate that failed.',
  });
  return {failed: () => errors.add()};
};

/** Returns the metrics of rotations of a serving certificate. */
export const servingRenewals = (meter: Meter, agent: string): Renewals => {
  const errors = meter.counter({
    name: `${agent}_server_expiration_renew_errors`,
    help: 'The attempts to renew the serving certificate that failed.',
  });
  const rotations = meter.histogram({
    name: `${agent}_certificate_manager_server_rotation_seconds`,
    help: 'How long a serving certificate was valid when it was replaced.',
    buckets: [60, hour, 4 * hour, day, 7 * day, month, 3 * month, 6 * month, 12 * month, 48 * month],
  });
  return {failed: () => errors.add(), renewed: ageMs => rotations.observe(ageMs / 1000)};
};

/** Shows the seconds until a certificate expires: infinite while there is none. */
export const observeLifetime = (
  {meter, clock}: {readonly meter: Meter; readonly clock: Pick<Clock, 'now'>},
  agent: string,
  use: 'client' | 'server',
  certificate: Pick<AgentCertificate, 'last'>,
): Disposable =>
  meter.observed(
    {
      name: `${agent}_certificate_manager_${use}_ttl_seconds`,
      help: `In how many seconds the ${use} certificate expires; negative if it has, and infinite if there is none.`,
    },
    () => [[{}, certificate.last ? (certificate.last.leaf.notAfter - clock.now()) / 1000 : Infinity]],
  );
