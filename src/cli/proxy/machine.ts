// What of the machine the proxy's program sets at its start.

import {readFile, writeFile} from 'node:fs/promises';
import {cpus, hostname} from 'node:os';
import type {Log} from '#src/base/log.js';
import {nodeNameOf as nodeNameOfHost} from '#src/platlet/node/addresses.js';
import type {Settings} from '#src/proxy/configuration/fields.js';
import {setConntrackLimits} from '#src/proxy/conntrack/limits.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';

/** Returns the name of the node: of the configuration, or of the host. */
export const nodeNameOf = ({hostnameOverride}: Pick<Settings, 'hostnameOverride'>): string =>
  nodeNameOfHost(hostnameOverride || hostname());

/** Makes the kernel end other processes first when memory is short. A failure is logged. */
export const setOomScore = async (score: number, log: Log): Promise<void> => {
  await writeFile('/proc/self/oom_score_adj', String(score)).catch((error: unknown) => {
    log.v(2).info({err: error}, 'failed to apply the OOM score');
  });
};

export interface ConntrackSetup {
  readonly kernel: ProxyKernel;
  readonly log: Log;
  /** Called if /sys is read-only. */
  readOnly(message: string): void;
}

/** Sets the kernel's limits of tracked connections. */
export const setConntrack = (settings: Settings, {kernel, log, readOnly}: ConntrackSetup): Promise<void> =>
  setConntrackLimits(
    {
      maxPerCore: settings['conntrack.maxPerCore'],
      min: settings['conntrack.min'],
      tcpEstablishedTimeout: settings['conntrack.tcpEstablishedTimeout'],
      tcpCloseWaitTimeout: settings['conntrack.tcpCloseWaitTimeout'],
      tcpBeLiberal: settings['conntrack.tcpBeLiberal'],
      udpTimeout: settings['conntrack.udpTimeout'],
      udpStreamTimeout: settings['conntrack.udpStreamTimeout'],
    },
    {
      kernel,
      files: {read: path => readFile(path, 'utf8'), write: (path, value) => writeFile(path, value)},
      cores: cpus().length,
      log,
      readOnly,
    },
  );
