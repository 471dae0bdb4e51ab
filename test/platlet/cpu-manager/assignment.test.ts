import test from 'ava';
import {takeDistributed, takePacked} from '#src/platlet/cpu-manager/assignment.js';
import {formatCpuSet, parseCpuSet} from '#src/platlet/topology/cpuset.js';
import {machines, type MachineName} from './machines.js';

const outcome = (take: () => ReadonlySet<number>): string => {
  try {
    return formatCpuSet(take());
  } catch {
    return '!';
  }
};

/** Which CPUs are taken of those that are available; `!` if it fails. */
const packed: readonly (readonly [MachineName, 'packed' | 'spread' | 'caches', string, number, string])[] = [
  ['singleSocketHT', 'packed', '0,2,4,6', 5, '!'],
  ['singleSocketHT', 'packed', '0-7', 0, ''],
  ['singleSocketHT', 'packed', '0-7', 1, '0'],
  ['singleSocketHT', 'packed', '1,3,5-7', 1, '6'],
  ['singleSocketHT', 'packed', '0-7', 2, '0,4'],
  ['singleSocketHT', 'packed', '0-7', 8, '0-7'],
  ['singleSocketHT', 'packed', '0-3,6', 2, '2,6'],
  ['dualSocketHT', 'packed', '0-11', 6, '0,2,4,6,8,10'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '0-79', 40, '0-19,40-59'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '0-79', 20, '0-9,40-49'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '10-39,50-79', 20, '10-19,50-59'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '0-79', 60, '0-29,40-69'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '1-39,41-79', 60, '10-39,50-79'],
  ['dualSocketHT', 'packed', '1-5,7-11', 1, '2'],
  ['dualSocketHT', 'packed', '0-11', 8, '0-2,4,6-8,10'],
  ['dualSocketMultiNumaPerSocketHT', 'packed', '0-79', 64, '0-31,40-71'],
  ['uncoreSingleSocketNoSMT', 'caches', '1-15', 10, '1-2,4-11'],
  ['dualSocketHT', 'caches', '1-5,7-11', 1, '1'],
  ['uncoreDualSocketNoSMT', 'caches', '0-15', 4, '0-3'],
  ['uncoreDualSocketNoSMT', 'caches', '2-15', 6, '2-7'],
  ['uncoreDualSocketNoSMT', 'caches', '8-15', 4, '8-11'],
  ['uncoreSingleSocketMultiNuma', 'caches', '3-8,12', 2, '4-5'],
  ['uncoreSingleSocketSMT', 'caches', '2-7,10-15', 6, '4-6,12-14'],
  ['uncoreSingleSocketSMT', 'caches', '1-7,9-15', 10, '1,4-7,9,12-15'],
  ['singleSocketHT', 'spread', '0-7', 3, '0-2'],
  ['dualSocketHT', 'spread', '0-11', 2, '0,2'],
  ['dualSocketHT', 'spread', '0-11', 3, '0,2,4'],
  ['dualSocketHT', 'spread', '0-11', 6, '0,2,4,6,8,10'],
  ['dualSocketHT', 'spread', '0-11', 8, '0-4,6,8,10'],
  ['dualSocketNoHT', 'spread', '0-7', 2, '0-1'],
  ['dualSocketMultiNumaPerSocketHT', 'spread', '0-79', 8, '0-7'],
];

for (const [name, how, available, count, expected] of packed)
  test(`of the CPUs ${available} of ${name} ${count} are taken ${how}`, t => {
    const request = {topology: machines[name], available: parseCpuSet(available), count, order: how === 'spread' ? how : 'packed'} as const;

    t.is(
      outcome(() => takePacked(request, how === 'caches')),
      expected,
    );
  });

/** Which CPUs are taken in groups of a size. */
const distributed: readonly (readonly [MachineName, number, string, number, string])[] = [
  ['singleSocketHT', 1, '0,2,4,6', 5, '!'],
  ['singleSocketHT', 1, '0-7', 0, ''],
  ['singleSocketHT', 1, '0-7', 1, '0'],
  ['singleSocketHT', 1, '1,3,5-7', 1, '6'],
  ['singleSocketHT', 1, '0-7', 2, '0,4'],
  ['singleSocketHT', 1, '0-7', 8, '0-7'],
  ['singleSocketHT', 1, '0-3,6', 2, '2,6'],
  ['dualSocketHT', 1, '0-11', 6, '0,2,4,6,8,10'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 40, '0-19,40-59'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 20, '0-9,40-49'],
  ['dualSocketMultiNumaPerSocketHT', 1, '10-39,50-79', 20, '10-19,50-59'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 60, '0-29,40-69'],
  ['dualSocketMultiNumaPerSocketHT', 1, '1-39,41-79', 60, '10-39,50-79'],
  ['dualSocketHT', 1, '0-11', 8, '0-3,6-9'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 64, '0-7,10-17,20-27,30-37,40-47,50-57,60-67,70-77'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 48, '0-7,10-17,20-27,40-47,50-57,60-67'],
  ['dualSocketMultiNumaPerSocketHT', 1, '1-29,32-39,41-69,72-79', 48, '1-8,10-17,20-27,41-48,50-57,60-67'],
  ['dualSocketMultiNumaPerSocketHT', 1, '2-29,31-39,42-69,71-79', 48, '10-17,20-27,31-38,50-57,60-67,71-78'],
  [
    'dualSocketMultiNumaPerSocketHT',
    1,
    '0-2,10-12,20-22,30-32,40-41,50-51,60-61,70-71',
    16,
    '0-1,10-11,20-21,30-31,40-41,50-51,60-61,70-71',
  ],
  ['dualSocketHT', 1, '1-5,7-11', 1, '1'],
  ['dualSocketHT', 2, '1-5,7-11', 1, '2'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 26, '0-6,10-16,40-45,50-55'],
  ['dualSocketMultiNumaPerSocketHT', 2, '0-79', 26, '0-6,10-15,40-46,50-55'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-79', 62, '0-7,10-17,20-27,30-37,40-47,50-57,60-66,70-76'],
  ['dualSocketMultiNumaPerSocketHT', 2, '0-79', 62, '0-7,10-17,20-27,30-36,40-47,50-57,60-67,70-76'],
  ['dualSocketMultiNumaPerSocketHT', 1, '0-8,10-18,20-48,50-58,60-79', 62, '0-7,10-17,20-27,30-37,40-46,50-56,60-67,70-77'],
  ['dualSocketMultiNumaPerSocketHT', 2, '0-8,10-18,20-48,50-58,60-79', 62, '0-7,10-16,20-27,30-37,40-47,50-56,60-67,70-77'],
  [
    'dualSocketMultiNumaPerSocketHT',
    1,
    '0-3,10-13,20-23,30-36,40-43,50-53,60-63,70-76',
    34,
    '0-3,10-13,20-23,30-34,40-43,50-53,60-63,70-74',
  ],
  [
    'dualSocketMultiNumaPerSocketHTLarge',
    1,
    '0,30-31,43-47,62-63,75-79,94,96,101-111,126-128,158-159,171-175,190-191,203-207,222-223,229-239,254-255',
    28,
    '43-47,75-79,96,101-105,171-174,203-206,229-232',
  ],
];

for (const [name, groupSize, available, count, expected] of distributed)
  test(`of the CPUs ${available} of ${name} ${count} are distributed over NUMA nodes in groups of ${groupSize}`, t => {
    const request = {topology: machines[name], available: parseCpuSet(available), count, order: 'packed'} as const;

    t.is(
      outcome(() => takeDistributed(request, groupSize)),
      expected,
    );
  });

test('too few CPUs are refused in words', t => {
  const request = {topology: machines.singleSocketHT, available: parseCpuSet('0,2,4,6'), count: 5, order: 'packed'} as const;

  t.throws(() => takePacked(request), {message: 'not enough cpus available to satisfy request: requested=5, available=4'});
});
