import {createHash} from 'node:crypto';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';

const prefix = 'apiserver_authorization_config_controller_';

const hashOf = (text: string): string => (text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`);

/** Records which configuration is in force and how its reloads ended. `server` is the server's identity, which labels show hashed. */
export const reloadMetrics = (meter: Meter, clock: Clock, server: string) => {
  const reloads = meter.counter({
    name: `${prefix}automatic_reloads_total`,
    help: 'Total number of automatic reloads of authorization configuration split by status and apiserver identity.',
    labels: ['status', 'apiserver_id_hash'],
  });
  const lastReload = meter.gauge({
    name: `${prefix}automatic_reload_last_timestamp_seconds`,
    help: 'Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.',
    labels: ['status', 'apiserver_id_hash'],
  });
  const info = meter.gauge({
    name: `${prefix}last_config_info`,
    help: 'Information about the last applied authorization configuration with hash as label, split by apiserver identity.',
    labels: ['apiserver_id_hash', 'hash'],
  });
  const serverLabel = {apiserver_id_hash: hashOf(server)};
  let shown: {readonly apiserver_id_hash: string; readonly hash: string} | undefined;
  return {
    reloaded(status: 'success' | 'failure'): void {
      reloads.add({status, ...serverLabel});
      lastReload.set(clock.now() / 1000, {status, ...serverLabel});
    },
    inForce(content: string): void {
      if (shown) info.remove(shown);
      info.set(1, (shown = {...serverLabel, hash: hashOf(content)}));
    },
  };
};
