// What an agent reads from its machine.

import type {Files} from '#src/base/files/files.js';
import {idMapFile, isUserNamespace} from '#src/platlet/host/user-namespace.js';

/** The machine as its Node shows it. Sizes in bytes. */
export interface Machine {
  readonly machineId: string;
  readonly systemId: string;
  readonly bootId: string;
  readonly kernelVersion: string;
  readonly osImage: string;
  readonly operatingSystem: string;
  readonly architecture: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** The total size of huge pages, by page size as in `2Mi`. */
  readonly hugepages: Readonly<Record<string, number>>;
  /** The size of the file system of the data directory. */
  readonly storageBytes: number;
  /** Whether the agent runs in a user namespace other than the initial one. */
  readonly isInUserNamespace: boolean;
}

export interface MachineParts {
  readonly files: Pick<Files, 'read' | 'foldersIn'>;
  /** Returns the size of the file system of the data directory, in bytes. */
  storageBytes(): Promise<number>;
  /** The platform and architecture as Node.js names them. */
  readonly platform: string;
  readonly arch: string;
}

const architectures: Readonly<Record<string, string>> = {x64: 'amd64', ia32: '386'};

const kibibytes = (text: string, name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;

/** Returns the value of a variable in a file such as /etc/os-release. */
const assigned = (text: string, name: string): string => new RegExp(`^${name}=["']?(.*?)["']?$`, 'm').exec(text)?.[1] ?? '';

/** Formats a page size as a quantity. */
const pageSize = (kib: number): string =>
  kib % (1 << 20) === 0 ? `${kib / (1 << 20)}Gi` : kib % 1024 === 0 ? `${kib / 1024}Mi` : `${kib}Ki`;

const hugepagesFolder = '/sys/kernel/mm/hugepages';

/** Reads the facts about the machine. What the system does not report is empty. */
export const readMachine = async ({files, storageBytes, platform, arch}: MachineParts): Promise<Machine> => {
  const whole = async (path: string): Promise<string> => (await files.read(path).catch(() => undefined))?.toString() ?? '';
  const read = async (path: string): Promise<string> => (await whole(path)).trim();
  const [machineId, legacyId, systemId, bootId, kernelVersion, release, memory, cpus] = await Promise.all(
    [
      '/etc/machine-id',
      '/var/lib/dbus/machine-id',
      '/sys/class/dmi/id/product_uuid',
      '/proc/sys/kernel/random/boot_id',
      '/proc/sys/kernel/osrelease',
      '/etc/os-release',
      '/proc/meminfo',
      '/proc/cpuinfo',
    ].map(read),
  );
  const pools = await Promise.all(
    (await files.foldersIn(hugepagesFolder)).flatMap(folder => {
      const kib = Number(/^hugepages-(\d+)kB$/.exec(folder)?.[1] ?? 0);
      return kib
        ? [read(`${hugepagesFolder}/${folder}/nr_hugepages`).then(count => [pageSize(kib), Number(count) * kib * 1024] as const)]
        : [];
    }),
  );
  return {
    machineId: machineId || legacyId || '',
    systemId: systemId || machineId || legacyId || '',
    bootId: bootId ?? '',
    kernelVersion: kernelVersion ?? '',
    osImage: assigned(release ?? '', 'PRETTY_NAME'),
    operatingSystem: platform,
    architecture: architectures[arch] ?? arch,
    cores: (cpus ?? '').match(/^processor\s*:/gm)?.length ?? 1,
    memoryBytes: kibibytes(memory ?? '', 'MemTotal'),
    swapBytes: kibibytes(memory ?? '', 'SwapTotal'),
    hugepages: Object.fromEntries(pools),
    storageBytes: await storageBytes(),
    isInUserNamespace: isUserNamespace(await whole(idMapFile)),
  };
};
