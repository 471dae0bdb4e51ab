// The texts of the events of a resize. Pure.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {orderedRequirements, type Requirements} from './pod-resources.js';

const summaryOf = (containers: readonly {readonly name: string; readonly resources?: Requirements | undefined}[]): object[] =>
  containers.map(({name, resources = {}}) => ({name, resources: orderedRequirements(resources)}));

const message = (what: string, {spec}: Frozen<Pod>, generation: number, error = ''): string => {
  const [initContainers, containers] = [spec?.initContainers ?? [], spec?.containers ?? []].map(summaryOf);
  const summary = {
    ...(initContainers!.length > 0 ? {initContainers} : {}),
    ...(containers!.length > 0 ? {containers} : {}),
    generation,
    ...(error ? {error} : {}),
  };
  return `${what}: ${JSON.stringify(summary)}`;
};

export const startedMessage = (pod: Frozen<Pod>, generation: number): string => message('Pod resize started', pod, generation);
export const completedMessage = (pod: Frozen<Pod>, generation: number): string => message('Pod resize completed', pod, generation);
export const errorMessage = (pod: Frozen<Pod>, generation: number, error: string): string =>
  message('Pod resize error', pod, generation, error);
export const pendingMessage = (pod: Frozen<Pod>, reason: string, generation: number, error: string): string =>
  message(`Pod resize ${reason}`, pod, generation, error);
