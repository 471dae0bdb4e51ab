import type {PodPorts} from '#src/platlet/pod/ports.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';

/** What runs are removed through. */
export interface RunRemoval {
  readonly runtime: Pick<Runtime, 'removeContainer'>;
  readonly output: PodPorts['output'];
}

/** Removes a run that has ended, and its logs. */
export const removeRun = async ({runtime, output}: RunRemoval, run: ContainerInstance): Promise<void> => {
  await output.removeLogs?.(run);
  await runtime.removeContainer(run.id);
};
