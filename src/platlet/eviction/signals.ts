// What an agent watches so that its node does not run out of it, and what it observes of that.

import type {FilesystemStats, NodeStats} from '#src/api/node/stats.js';
import {quantityOf, type Quantity, type QuantityFormat} from '#src/api/quantity.js';

/** The type of the condition that a Node shows. */
export type Pressure = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

/** What pods are evicted to get back. The last two are resources of no pod. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

interface SignalMeaning {
  readonly condition: Pressure;
  readonly resource: StarvedResource;
}

const memory: SignalMeaning = {condition: 'MemoryPressure', resource: 'memory'};
const disk: SignalMeaning = {condition: 'DiskPressure', resource: 'ephemeral-storage'};
const inodes: SignalMeaning = {condition: 'DiskPressure', resource: 'inodes'};

/** The signals that thresholds are of. */
export const signals = {
  'memory.available': memory,
  'allocatableMemory.available': memory,
  'nodefs.available': disk,
  'nodefs.inodesFree': inodes,
  'imagefs.available': disk,
  'imagefs.inodesFree': inodes,
  'containerfs.available': disk,
  'containerfs.inodesFree': inodes,
  'pid.available': {condition: 'PIDPressure', resource: 'pids'},
} as const satisfies Readonly<Record<string, SignalMeaning>>;

export type Signal = keyof typeof signals;

export const isSignal = (name: string): name is Signal => Object.hasOwn(signals, name);

/** What there is of a resource, and what is left of it. */
export interface Observation {
  readonly capacity: Quantity;
  readonly available: Quantity;
  readonly at: number;
}

export type Observations = ReadonlyMap<Signal, Observation>;

type Entry = readonly [Signal, Observation];

const observed = (
  signal: Signal,
  format: QuantityFormat,
  {capacity, available, at}: {readonly capacity: number | undefined; readonly available: number | undefined; readonly at: number},
): Entry[] =>
  capacity === undefined || available === undefined
    ? []
    : [[signal, {capacity: quantityOf(capacity, format), available: quantityOf(available, format), at}]];

const ofFilesystem = (name: 'nodefs' | 'imagefs' | 'containerfs', fs: FilesystemStats | undefined, time: number): Entry[] => {
  if (!fs) return [];
  const {capacityBytes, availableBytes, inodes: all, inodesFree, at = time} = fs;
  return [
    ...observed(`${name}.available`, 'BinarySI', {capacity: capacityBytes, available: availableBytes, at}),
    ...observed(`${name}.inodesFree`, 'DecimalSI', {capacity: all, available: inodesFree, at}),
  ];
};

/** Returns what the measurements of a node say about each signal. Signals of which they say nothing are left out. */
export const observationsOf = ({time, machine, memoryBytes, system, fs, imageFs, containerFs, processes}: NodeStats): Observations => {
  const available = Math.max(0, machine.memoryBytes - memoryBytes);
  const pods = system?.find(({name}) => name === 'pods');
  const left = pods?.memory?.availableBytes;
  return new Map([
    ...observed('memory.available', 'BinarySI', {capacity: available + memoryBytes, available, at: time}),
    ...(pods && left !== undefined
      ? observed('allocatableMemory.available', 'BinarySI', {capacity: left + pods.memoryBytes, available: left, at: time})
      : []),
    ...ofFilesystem('nodefs', fs, time),
    ...ofFilesystem('imagefs', imageFs, time),
    ...ofFilesystem('containerfs', containerFs, time),
    ...(processes
      ? observed('pid.available', 'DecimalSI', {capacity: processes.max, available: processes.max - processes.current, at: time})
      : []),
  ]);
};
