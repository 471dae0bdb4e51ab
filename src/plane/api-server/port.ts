import {readFileSync} from 'node:fs';
import type {Naming} from '#src/api/naming.js';
import {every, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {RunningApiServer} from './api-server.js';
import type {AdminSettings} from '#src/plane/kubeconfig/settings.js';
import type {PlaneMaterial} from '#src/plane/inputs/material.js';
import {firstServiceAddress, reachableHost} from './self-service.js';
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
  gate(name: string): boolean;
}

/** The HTTPS port of a plane, whose certificate is renewed in time. */
export interface PlanePort extends Pick<Sockets, 'reportWaiting' | 'serve'> {
  /** `host:port` by which clients on this machine reach it. */
  readonly address: string;
  /** The administrator's connection settings. */
  readonly settings: AdminSettings;
  /** Stops gracefully, as the options specify. */
  stop(running: RunningApiServer): Promise<void>;
  /** Closes at once; does nothing after `stop`. */
  close(): Promise<void>;
}

/** The interval of checks whether the serving certificate is due for renewal; failed renewals are retried at the same interval. */
const renewalCheckMs = 3_600_000;

export const openPlanePort = async ({
  options,
  material: {authority, files},
  naming,
  meter,
  ...parts
}: PlanePortParts): Promise<PlanePort> => {
  const {clock} = parts;
  const certificate = () =>
    planeServingCertificate(authority, {
      clock,
      naming,
      hosts: [firstServiceAddress(options), options.bindAddress, options.externalHostname, reachableHost(options) ?? ''].filter(Boolean),
    });
  const sockets = await openSockets({...parts, options, naming, meter, tls: await certificate()});
  let renewAt = clock.now() + renewAfterMs;
  const over = new AbortController();
  every(clock, renewalCheckMs, over.signal, async () => {
    if (clock.now() < renewAt) return;
    sockets.listener.setSecureContext(await certificate());
    renewAt = clock.now() + renewAfterMs;
  });
  const address = hostPort(sockets);
  return {
    reportWaiting: sockets.reportWaiting,
    serve: sockets.serve,
    address,
    settings: {
      server: `https://${address}`,
      ca: readFileSync(files.ca, 'utf8'),
      certificate: readFileSync(files.admin, 'utf8'),
      key: readFileSync(files.adminKey, 'utf8'),
    },
    stop(running) {
      over.abort();
      return sockets.stop(running);
    },
    close() {
      over.abort();
      return sockets.listener.close();
    },
  };
};
