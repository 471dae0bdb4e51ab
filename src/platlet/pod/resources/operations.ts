// What a changed spec asks for, as metrics count it. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {cpuAndMemoryOf, resourcesOf, sameRequirements, type CpuAndMemory} from './pod-resources.js';

/** A request or limit of a container that was changed. */
export interface ResizeOperation {
  readonly resource: 'cpu' | 'memory';
  readonly requirement: 'requests' | 'limits';
  readonly operation: 'add' | 'remove' | 'increase' | 'decrease';
}

const amounts: readonly (readonly [keyof CpuAndMemory, Omit<ResizeOperation, 'operation'>])[] = [
  ['memoryRequest', {resource: 'memory', requirement: 'requests'}],
  ['memoryLimit', {resource: 'memory', requirement: 'limits'}],
  ['cpuRequest', {resource: 'cpu', requirement: 'requests'}],
  ['cpuLimit', {resource: 'cpu', requirement: 'limits'}],
];

const operationOf = (before: number, now: number): ResizeOperation['operation'] | undefined => {
  if (before === now) return undefined;
  if (now === 0) return 'remove';
  if (before === 0) return 'add';
  return now < before ? 'decrease' : 'increase';
};

/** Returns the changes of the containers of a pod that can be resized. */
export const resizeOperations = (before: Frozen<Pod>, now: Frozen<Pod>): readonly ResizeOperation[] => {
  const [old, wanted] = [before, now].map(pod => resourcesOf(pod, false).containers);
  return Object.entries(wanted!).flatMap(([name, resources]) => {
    const [given, asked] = [cpuAndMemoryOf(old![name]), cpuAndMemoryOf(resources)];
    return amounts.flatMap(([member, of]) => {
      const operation = operationOf(given[member], asked[member]);
      return operation ? [{...of, operation}] : [];
    });
  });
};

/** Whether a changed spec asks for other resources, of containers or of the pod. */
export const asksForResize = (before: Frozen<Pod>, now: Frozen<Pod>): boolean =>
  resizeOperations(before, now).length > 0 || !sameRequirements(before.spec?.resources, now.spec?.resources);
