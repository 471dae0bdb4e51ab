// Sets of CPUs in the notation of the kernel: `0-3,7`. Pure.

/** A set of CPU ids. */
export type CpuSet = ReadonlySet<number>;

export const noCpus: CpuSet = new Set();

/** Returns ids in ascending order. */
export const ascending = (ids: Iterable<number>): number[] => [...ids].sort((a, b) => a - b);

export const union = (...sets: readonly CpuSet[]): CpuSet => new Set(sets.flatMap(set => [...set]));

export const intersection = (a: CpuSet, b: CpuSet): CpuSet => new Set([...a].filter(cpu => b.has(cpu)));

export const difference = (a: CpuSet, b: CpuSet): CpuSet => new Set([...a].filter(cpu => !b.has(cpu)));

export const isSubset = (a: CpuSet, b: CpuSet): boolean => [...a].every(cpu => b.has(cpu));

export const isSameSet = (a: CpuSet, b: CpuSet): boolean => a.size === b.size && isSubset(a, b);

const numberOf = (text: string): number => {
  if (!/^[+-]?\d{1,9}$/.test(text)) throw new Error(`strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
};

/** Parses a list of CPUs and ranges. Throws on a syntax error. */
export const parseCpuSet = (text: string): CpuSet => {
  const found = new Set<number>();
  for (const part of text === '' ? [] : text.split(',')) {
    const dash = part.indexOf('-');
    const first = numberOf(dash < 0 ? part : part.slice(0, dash));
    const last = dash < 0 ? first : numberOf(part.slice(dash + 1));
    if (first > last) throw new Error(`invalid range ${JSON.stringify(part)} (${first} > ${last})`);
    for (let cpu = first; cpu <= last; cpu++) found.add(cpu);
  }
  return found;
};

/** Formats a set of CPUs, with ranges. */
export const formatCpuSet = (cpus: CpuSet): string => {
  const ranges: {first: number; last: number}[] = [];
  for (const cpu of ascending(cpus)) {
    const range = ranges.at(-1);
    if (range?.last === cpu - 1) range.last = cpu;
    else ranges.push({first: cpu, last: cpu});
  }
  return ranges.map(({first, last}) => (first === last ? String(first) : `${first}-${last}`)).join(',');
};
