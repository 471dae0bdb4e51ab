// What cgroups of version 2 tell beside the runtime: how long tasks have waited for resources (PSI), and what is
// swapped out.

import type {PressureLine, PressureStats, ResourcePressure, SwapStats} from '#src/api/node/stats.js';

/** Reads a file of a cgroup, or of the machine; undefined if it is not there. */
export type ReadFile = (name: string) => Promise<string | undefined>;

const lineOf = (text: string, kind: 'some' | 'full'): PressureLine => {
  const line = new RegExp(`^${kind} (.*)$`, 'm').exec(text)?.[1] ?? '';
  const value = (name: string): number => Number(new RegExp(`\\b${name}=([0-9.]+)`).exec(line)?.[1] ?? 0);
  return {total: value('total'), avg10: value('avg10'), avg60: value('avg60'), avg300: value('avg300')};
};

/** Parses a pressure file of the kernel. */
export const parsePressure = (text: string): PressureStats => ({full: lineOf(text, 'full'), some: lineOf(text, 'some')});

/** Returns the pressure on processor, memory and disks; undefined where the kernel does not measure it. */
export const readPressure = async (read: ReadFile, nameOf: (resource: string) => string): Promise<ResourcePressure | undefined> => {
  const texts = await Promise.all(['cpu', 'memory', 'io'].map(resource => read(nameOf(resource))));
  const [cpu, memory, io] = texts.map(text => (text ? parsePressure(text) : undefined));
  if (!cpu && !memory && !io) return undefined;
  return {...(cpu ? {cpu} : {}), ...(memory ? {memory} : {}), ...(io ? {io} : {})};
};

/** Returns the swap of a cgroup; undefined where it is not accounted. */
export const readSwap = async (read: ReadFile): Promise<SwapStats | undefined> => {
  const [current, most] = await Promise.all([read('memory.swap.current'), read('memory.swap.max')]);
  const usageBytes = Number(current || Number.NaN);
  if (Number.isNaN(usageBytes)) return undefined;
  const limit = Number(most || Number.NaN);
  return {usageBytes, ...(Number.isNaN(limit) ? {} : {availableBytes: Math.max(0, limit - usageBytes)})};
};

/** Returns the swap of a machine from /proc/meminfo. */
export const machineSwap = (text: string): SwapStats => {
  const of = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return {usageBytes: of('SwapTotal') - of('SwapFree'), availableBytes: of('SwapFree')};
};
