import {topologyOf, type CpuLevel, type CpuTopology} from '#src/platlet/topology/cpu-topology.js';

/** Returns the values of a row such as `0x2 3-5`: twice 0, then 3 to 5. */
const valuesOf = (row: string): readonly number[] =>
  row.split(' ').flatMap(part => {
    const [, first = '', sign, last = ''] = /^(\d+)([x-])?(\d+)?$/.exec(part) ?? [];
    if (sign === 'x') return Array.from({length: Number(last)}, () => Number(first));
    return Array.from({length: sign ? Number(last) - Number(first) + 1 : 1}, (_, at) => Number(first) + at);
  });

/** Returns a machine by the socket, NUMA node, core and cache of each CPU. */
const machine = (rows: Readonly<Record<CpuLevel, string>>): CpuTopology => {
  const [sockets, numaNodes, cores, caches] = [rows.socket, rows.numaNode, rows.core, rows.uncoreCache].map(valuesOf);
  return topologyOf(
    new Map(sockets!.map((socket, cpu) => [cpu, {socket, numaNode: numaNodes![cpu]!, core: cores![cpu]!, uncoreCache: caches![cpu]!}])),
  );
};

/** The machines of the tables. */
export const machines = {
  dualSocketHT: machine({socket: '0-1 0-1 0-1 0-1 0-1 0-1', numaNode: '0-1 0-1 0-1 0-1 0-1 0-1', core: '0-5 0-5', uncoreCache: '0x12'}),
  dualSocketMultiNumaPerSocketHT: machine({
    socket: '0x20 1x20 0x20 1x20',
    numaNode: '0x10 1x10 2x10 3x10 0x10 1x10 2x10 3x10',
    core: '0-39 0-39',
    uncoreCache: '0x80',
  }),
  dualSocketMultiNumaPerSocketHTLarge: machine({
    socket: '0x64 1x64 0x64 1x64',
    numaNode: '0x16 1x16 2x16 3x16 4x16 5x16 6x16 7x16 0x16 1x16 2x16 3x16 4x16 5x16 6x16 7x16',
    core: '0-127 0-127',
    uncoreCache: '0x256',
  }),
  dualSocketNoHT: machine({socket: '0x4 1x4', numaNode: '0x4 1x4', core: '0-7', uncoreCache: '0x8'}),
  singleSocketHT: machine({socket: '0x8', numaNode: '0x8', core: '0-3 0-3', uncoreCache: '0x8'}),
  uncoreDualSocketNoSMT: machine({socket: '0x8 1x8', numaNode: '0x16', core: '0-15', uncoreCache: '0x4 1x4 2x4 3x4'}),
  uncoreSingleSocketMultiNuma: machine({socket: '0x16', numaNode: '0x8 1x8', core: '0-15', uncoreCache: '0x4 1x4 2x4 3x4'}),
  uncoreSingleSocketNoSMT: machine({socket: '0x16', numaNode: '0x16', core: '0-15', uncoreCache: '0x4 1x4 2x4 3x4'}),
  uncoreSingleSocketSMT: machine({socket: '0x16', numaNode: '0x16', core: '0-7 0-7', uncoreCache: '0x4 1x4 0x4 1x4'}),
} as const satisfies Readonly<Record<string, CpuTopology>>;

export type MachineName = keyof typeof machines;
