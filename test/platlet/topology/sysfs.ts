import {noCpus, parseCpuSet} from '#src/platlet/topology/cpuset.js';
import type {Host} from '#src/platlet/host/host.js';

/** The machine that a sysfs shows. */
export interface SysfsMachine {
  readonly sockets: number;
  readonly numaPerSocket?: number;
  readonly coresPerNuma: number;
  readonly threads?: number;
  readonly memoryBytes?: number;
  readonly online?: string;
  /** The number of cores that share a last-level cache. */
  readonly coresPerCache?: number;
}

const devices = '/sys/devices/system';

/** Returns the files of a sysfs. The second threads of all cores follow the first ones, as on most machines. */
export const sysfsOf = (machine: SysfsMachine): ReadonlyMap<string, string> => {
  const {sockets, numaPerSocket = 1, coresPerNuma, threads = 1, memoryBytes = 8 * 2 ** 30, coresPerCache = coresPerNuma, online} = machine;
  const nodes = sockets * numaPerSocket;
  const cores = nodes * coresPerNuma;
  const files = new Map<string, string>([[`${devices}/cpu/online`, online ?? `0-${cores * threads - 1}`]]);
  const cpusOf = (from: number, count: number): string =>
    Array.from({length: threads}, (_, thread) => `${from + thread * cores}-${from + count - 1 + thread * cores}`).join(',');
  for (let cpu = 0; cpu < cores * threads; cpu++) {
    const core = cpu % cores;
    const node = Math.floor(core / coresPerNuma);
    const folder = `${devices}/cpu/cpu${cpu}`;
    const cache = Math.floor(core / coresPerCache);
    files.set(`${folder}/topology/physical_package_id`, String(Math.floor(node / numaPerSocket)));
    files.set(`${folder}/topology/core_id`, String(core % (coresPerNuma * numaPerSocket)));
    files.set(`${folder}/cache/index0/level`, '1');
    files.set(`${folder}/cache/index3/level`, '3');
    files.set(`${folder}/cache/index3/id`, String(cache));
    files.set(`${folder}/cache/index3/shared_cpu_list`, cpusOf(cache * coresPerCache, coresPerCache));
  }
  for (let node = 0; node < nodes; node++) {
    const folder = `${devices}/node/node${node}`;
    files.set(`${folder}/cpulist`, cpusOf(node * coresPerNuma, coresPerNuma));
    files.set(`${folder}/meminfo`, `Node ${node} MemTotal:       ${memoryBytes / nodes / 1024} kB\nNode ${node} MemFree: 1 kB`);
    files.set(`${folder}/distance`, Array.from({length: nodes}, (_, other) => (other === node ? 10 : 21)).join(' '));
    files.set(`${folder}/hugepages/hugepages-2048kB/nr_hugepages`, '4');
  }
  return files;
};

/** Returns the part of a host that reads files of a map. */
export const sysfsHost = (files: ReadonlyMap<string, string>): Pick<Host, 'read' | 'list'> => ({
  read: async path => {
    const text = files.get(path);
    return text === undefined ? undefined : Buffer.from(`${text}\n`);
  },
  list: async path =>
    [
      ...new Set([...files.keys()].flatMap(file => (file.startsWith(`${path}/`) ? [file.slice(path.length + 1).split('/')[0]!] : []))),
    ].sort(),
});

export const cpus = (text: string): ReadonlySet<number> => (text === '' ? noCpus : parseCpuSet(text));
