import {mayRestart} from '#src/model/pod/restart.js';
import {isInitialized, type PodRecord} from './record.js';
import {specContainers} from '#src/simulation/rules/spec-containers.js';

/** Returns the phase of a pod from the states of its containers (the API reference, pod lifecycle). */
export const phaseOf = (record: PodRecord): string => {
  if (record.rejection) return 'Failed';
  const spec = record.pod.spec!;
  const known = new Map(record.containers.map(container => [container.name, container]));
  const count = {pending: 0, waiting: 0, running: 0, ended: 0, succeeded: 0, restarting: 0};
  let isBroken = false;
  for (const {container, role} of specContainers(spec)) {
    const {state, last} = known.get(container.name) ?? {state: {is: 'waiting' as const}};
    const ended = state.is === 'ended' ? state : state.is === 'waiting' ? last : undefined;
    if (role === 'init') {
      if (!ended) count.pending++;
      else if (ended.exitCode !== 0 && !mayRestart(container, spec, ended.exitCode)) isBroken = true;
      else if (ended.exitCode !== 0) count.pending++;
    } else if (role === 'sidecar') {
      if (state.is === 'running') count.running++;
      else if (!ended) count.pending++;
    } else if (role === 'regular') {
      if (state.is === 'running') count.running++;
      else if (!ended) count.waiting++;
      else {
        count.ended++;
        if (state.is === 'ended' && ended.exitCode === 0) count.succeeded++;
        if (mayRestart(container, spec, ended.exitCode)) count.restarting++;
      }
    }
  }
  if (record.isFinished) return record.termination?.failed || count.succeeded < spec.containers.length ? 'Failed' : 'Succeeded';
  if (isBroken) return 'Failed';
  if (count.waiting > 0 || (count.pending > 0 && !isInitialized(record))) return 'Pending';
  if (count.running > 0 || count.restarting > 0) return 'Running';
  return count.succeeded === count.ended ? 'Succeeded' : 'Failed';
};
