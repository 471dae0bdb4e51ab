// Validation of reserved CPUs and memory.

import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {q, when, type Check} from './checks.js';

/** The checks of reserved CPUs and memory. */
export const reservations: readonly Check[] = [
  ({reservedSystemCPUs: text}) => {
    const error = text === '' ? undefined : cpuSetError(text);
    return when(error !== undefined, `unable to parse reservedSystemCPUs (--reserved-cpus) ${text}, error: ${error}`);
  },
  ({reservedMemory}) => {
    const seen = new Set<string>();
    return reservedMemory.flatMap(({numaNode = 0, limits}) =>
      Object.entries((limits ?? {}) as Readonly<Record<string, unknown>>).flatMap(([name, amount]) => {
        const of = `NUMA node ${String(numaNode)}`;
        const key = `${String(numaNode)} ${name}`;
        const isRepeated = seen.has(key);
        seen.add(key);
        return [
          ...when(
            name !== 'memory' && !name.startsWith('hugepages-'),
            `the limit type ${q(name)} for ${of} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
          ),
          ...when(isZeroAmount(amount), `reserved memory may not be zero for ${of} and resource ${q(name)}`),
          ...when(isRepeated, `the reserved memory has a duplicate value for ${of} and resource ${q(name)}`),
        ];
      }),
    );
  },
];

const isZeroAmount = (amount: unknown): boolean => {
  try {
    return compareQuantities(parseQuantity(String(amount)), zeroQuantity) === 0;
  } catch {
    return false;
  }
};

/** Returns what is invalid in a CPU list such as `0-3,7`. */
const cpuSetError = (text: string): string | undefined => {
  for (const part of text.split(',')) {
    const [first = '', last = first, ...rest] = part.split('-');
    for (const number of [first, last, ...rest]) if (!/^\d{1,9}$/.test(number)) return `strconv.Atoi: parsing ${q(number)}: invalid syntax`;
    if (rest.length > 0 || Number(last) < Number(first)) return `invalid range ${q(part)} (${first} > ${last})`;
  }
  return undefined;
};
