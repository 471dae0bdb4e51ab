// The states of pods in a line, for simulated nodes and the agent of real ones.

import {kinds} from '#src/api/kinds/index.js';
import type {ContainerStatus, Pod} from '#src/api/pod.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/plane.js';

export const podsOf = (plane: Plane) => plane.client().resource(kinds.pods);

export const podNamed = (plane: Plane, name = 'pod'): Promise<Pod> => podsOf(plane).get(name, {namespace: 'default'});

const stateText = ({name, state, restartCount, ready}: ContainerStatus): string => {
  const {waiting, running, terminated} = state ?? {};
  const what = running ? (ready ? 'ready' : 'running') : terminated ? `${terminated.reason}(${terminated.exitCode})` : waiting?.reason;
  return `${name} ${what}${restartCount > 0 ? ` after ${restartCount}` : ''}`;
};

/** A pod's state in one line: phase, reason, and each container. */
export const describePod = ({status}: Pod): string => {
  const {phase, reason, initContainerStatuses = [], containerStatuses = [], ephemeralContainerStatuses = []} = status ?? {};
  const containers = [...initContainerStatuses, ...containerStatuses, ...ephemeralContainerStatuses].map(stateText);
  return `${phase}${reason ? ` ${reason}` : ''}: ${containers.join(', ')}`;
};

/** A pod's states at times after now, in ms. */
export const timeline = async (
  plane: Plane & {readonly clock: VirtualClock},
  name: string,
  moments: readonly number[],
): Promise<Record<number, string>> => {
  const states: Record<number, string> = {};
  let passed = 0;
  for (const moment of moments) {
    await plane.clock.advance(moment - passed);
    passed = moment;
    states[moment] = describePod(await podNamed(plane, name));
  }
  return states;
};
