// Validation of reserved CPUs and memory.

import {compareQuantities, parseQuantity, zeroQuantity} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import {parseCpuSet} from '#src/platlet/topology/cpuset.js';
import {quoted, messagesIf, type Check} from './checks.js';

/** The checks of reserved CPUs and memory. */
export const reservations: readonly Check[] = [
  ({reservedSystemCPUs: text}) => {
    const error = text === '' ? undefined : cpuSetError(text);
    return messagesIf(error !== undefined, `unable to parse reservedSystemCPUs (--reserved-cpus) ${text}, error: ${error}`);
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
          ...messagesIf(
            name !== 'memory' && !name.startsWith('hugepages-'),
            `the limit type ${quoted(name)} for ${of} is not supported, only [memory hugepages-<HugePageSize>] is accepted`,
          ),
          ...messagesIf(isZeroAmount(amount), `reserved memory may not be zero for ${of} and resource ${quoted(name)}`),
          ...messagesIf(isRepeated, `the reserved memory has a duplicate value for ${of} and resource ${quoted(name)}`),
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
  try {
    parseCpuSet(text);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
};
