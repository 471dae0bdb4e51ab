// The kernel's limits and timeouts of tracked connections.

import type {Log} from '#src/base/log.js';
import type {ProxyKernel} from '#src/proxy/kernel/kernel.js';

/** What is to be set. Times are in ms; zero leaves the kernel's value. */
export interface ConntrackSettings {
  readonly maxPerCore: number;
  readonly min: number;
  readonly tcpEstablishedTimeout: number;
  readonly tcpCloseWaitTimeout: number;
  readonly tcpBeLiberal: boolean;
  readonly udpTimeout: number;
  readonly udpStreamTimeout: number;
}

/** Files of the kernel beside its parameters. */
export interface KernelFiles {
  /** Rejects if there is no such file. */
  read(path: string): Promise<string>;
  write(path: string, value: string): Promise<void>;
}

export interface ConntrackLimitsParts {
  readonly kernel: Pick<ProxyKernel, 'readSysctl' | 'writeSysctl'>;
  readonly files: KernelFiles;
  readonly cores: number;
  readonly log: Log;
  /** Called if the kernel's table is too small for the limit, and cannot be made larger, as /sys is read-only. */
  readOnly(message: string): void;
}

const readOnlyMessage =
  'CRI error: /sys is read-only: cannot modify conntrack limits, problems may arise later (If running Docker, see docker issue #24000)';

const hashSize = '/sys/module/nf_conntrack/parameters/hashsize';
/** How many connections one bucket of the kernel's table is for. */
const connectionsPerBucket = 4;

/** Returns the most connections that are to be tracked; zero leaves the kernel's limit. */
export const maxConnections = ({maxPerCore, min}: Pick<ConntrackSettings, 'maxPerCore' | 'min'>, cores: number): number =>
  maxPerCore > 0 ? Math.max(maxPerCore * cores, min) : 0;

/** Sets the kernel's limits. Rejects at the first that cannot be set. */
export const setConntrackLimits = async (settings: ConntrackSettings, parts: ConntrackLimitsParts): Promise<void> => {
  const max = maxConnections(settings, parts.cores);
  if (max > 0) await setMax(max, parts);
  const seconds = (ms: number): number => Math.trunc(ms / 1000);
  const values: readonly (readonly [isSet: boolean, name: string, value: number])[] = [
    [settings.tcpEstablishedTimeout > 0, 'nf_conntrack_tcp_timeout_established', seconds(settings.tcpEstablishedTimeout)],
    [settings.tcpCloseWaitTimeout > 0, 'nf_conntrack_tcp_timeout_close_wait', seconds(settings.tcpCloseWaitTimeout)],
    [settings.tcpBeLiberal, 'nf_conntrack_tcp_be_liberal', 1],
    [settings.udpTimeout > 0, 'nf_conntrack_udp_timeout', seconds(settings.udpTimeout)],
    [settings.udpStreamTimeout > 0, 'nf_conntrack_udp_timeout_stream', seconds(settings.udpStreamTimeout)],
  ];
  for (const [isSet, name, value] of values) if (isSet) await setNumber(name, value, parts);
};

const setNumber = async (name: string, value: number, {kernel, log}: ConntrackLimitsParts): Promise<void> => {
  const entry = `net/netfilter/${name}`;
  const found = await kernel.readSysctl(entry).catch(() => undefined);
  if (found === String(value)) return;
  log.info({entry, value}, 'setting a kernel parameter');
  await kernel.writeSysctl(entry, String(value));
};

const setMax = async (max: number, parts: ConntrackLimitsParts): Promise<void> => {
  const {files, log} = parts;
  await setNumber('nf_conntrack_max', max, parts);
  const size = Math.trunc(max / connectionsPerBucket);
  if (Number(await files.read(hashSize)) >= size) return;
  if (!(await isSysfsWritable(parts))) return parts.readOnly(readOnlyMessage);
  log.info({conntrackHashsize: size}, 'setting the size of the table of connections');
  await files.write(hashSize, String(size));
};

/** The first mount of the file system tells. */
const isSysfsWritable = async ({files, log}: ConntrackLimitsParts): Promise<boolean> => {
  const mounts = (await files.read('/proc/mounts')).split('\n').map(line => line.split(' '));
  const sysfs = mounts.find(([, , type]) => type === 'sysfs');
  if (!sysfs) throw new Error('no sysfs mounted');
  const isWritable = sysfs[3]?.split(',')[0] === 'rw';
  if (!isWritable) log.error({mountPoint: sysfs[1], mountOptions: sysfs[3]}, 'sysfs is not writable');
  return isWritable;
};

/** Whether the kernel takes packets outside of a connection's window. */
export const isTcpLiberal = async (kernel: Pick<ProxyKernel, 'readSysctl'>): Promise<boolean> => {
  const value = await kernel.readSysctl('net/netfilter/nf_conntrack_tcp_be_liberal').catch(() => undefined);
  return value !== undefined && value !== '0';
};
