import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {labelHash} from '#src/observe/label-hash.js';

/** Metrics of a configuration file that is followed. */
export interface ReloadMetrics {
  /** A configuration is in force, with this content. */
  applied(content: string | Buffer): void;
  /** An attempt to reload has ended. */
  reloaded(status: 'success' | 'failure'): void;
}

export interface ReloadMetricsSettings {
  /** What the file configures. */
  readonly subject: 'authentication' | 'authorization' | 'encryption';
  /** The server's identity, which labels show hashed. */
  readonly server: string;
  readonly meter: Meter;
  readonly clock: Clock;
}

/** Creates the metrics of a configuration file, named `apiserver_SUBJECT_config_controller_…` as upstream's. */
export const reloadMetrics = ({subject, server, meter, clock}: ReloadMetricsSettings): ReloadMetrics => {
  const prefix = `apiserver_${subject}_config_controller_`;
  const labels = ['status', 'apiserver_id_hash'];
  const own = {apiserver_id_hash: labelHash(server)};
  const total = meter.counter({
    name: `${prefix}automatic_reloads_total`,
    help: `Total number of automatic reloads of ${subject} configuration split by status and apiserver identity.`,
    labels,
  });
  const last = meter.gauge({
    name: `${prefix}automatic_reload_last_timestamp_seconds`,
    help: `Timestamp of the last automatic reload of ${subject} configuration split by status and apiserver identity.`,
    labels,
  });
  const info = meter.gauge({
    name: `${prefix}last_config_info`,
    help: `Information about the last applied ${subject} configuration with hash as label, split by apiserver identity.`,
    labels: ['apiserver_id_hash', 'hash'],
  });
  let shown: {readonly apiserver_id_hash: string; readonly hash: string} | undefined;
  return {
    applied(content) {
      if (shown) info.remove(shown);
      info.set(1, (shown = {...own, hash: labelHash(content)}));
    },
    reloaded(status) {
      total.add({...own, status});
      last.set(clock.now() / 1000, {...own, status});
    },
  };
};
