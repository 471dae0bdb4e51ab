import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {mayRestart} from '#src/model/pod/restart.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';

/** Feature gates that affect restarts. */
export interface RestartGates {
  /** RestartAllContainersOnContainerExits. */
  readonly restartAll?: boolean;
}

/**
 * Whether a container is to be started, given its newest run: it never ran, or it exited and its policy restarts it.
 */
export const isToStart = (
  pod: Frozen<Pod>,
  container: Frozen<AnyContainer>,
  latest: ContainerInstance | undefined,
  {restartAll = false}: RestartGates = {},
): boolean => {
  if (pod.metadata?.deletionTimestamp) return false;
  if (!latest || latest.state === 'created' || latest.state === 'unknown') return true;
  return latest.state === 'exited' && mayRestart(container, pod.spec!, latest.exitCode ?? 0, restartAll);
};

/** Whether the exit of this run restarts all containers of its pod (KEP-5532). */
export const restartsAll = (container: Frozen<AnyContainer>, {state, exitCode = 0}: ContainerInstance): boolean => {
  if (state !== 'exited' || container.restartPolicy === undefined) return false;
  const rule = container.restartPolicyRules?.find(
    ({exitCodes}) => exitCodes && (exitCodes.values?.includes(exitCode) ?? false) === (exitCodes.operator === 'In'),
  );
  return rule?.action === 'RestartAllContainers';
};
