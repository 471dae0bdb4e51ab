import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {RuntimePod, Sandbox} from '#src/platlet/runtime/state.js';

/** The sandbox to use, or the attempt of the sandbox to create. */
export type SandboxState =
  | {readonly is: 'usable'; readonly sandbox: Sandbox}
  | {readonly is: 'missing'; readonly attempt: number; readonly replaced?: Sandbox};

/** Returns the newest sandbox. */
export const newestSandbox = ({sandboxes}: Pick<RuntimePod, 'sandboxes'>): Sandbox | undefined => {
  let newest: Sandbox | undefined;
  for (const sandbox of sandboxes) {
    if (!newest || sandbox.attempt > newest.attempt || (sandbox.attempt === newest.attempt && sandbox.createdAt > newest.createdAt))
      newest = sandbox;
  }
  return newest;
};

/** Whether a sandbox has the network mode of its pod, and an address unless it is in the host network. */
const isConnected = (pod: Frozen<Pod>, {usesHostNetwork, addresses}: Sandbox): boolean => {
  const wantsHost = pod.spec?.hostNetwork ?? false;
  return usesHostNetwork === wantsHost && (wantsHost || addresses.length > 0);
};

/** Returns the usable sandbox of a pod, or that one has to be created. */
export const sandboxState = (pod: Frozen<Pod>, runtime: RuntimePod): SandboxState => {
  const newest = newestSandbox(runtime);
  if (!newest) return {is: 'missing', attempt: 0};
  const ready = runtime.sandboxes.filter(({isReady}) => isReady).length;
  if (ready > 1 || !newest.isReady || !isConnected(pod, newest)) return {is: 'missing', attempt: newest.attempt + 1, replaced: newest};
  return {is: 'usable', sandbox: newest};
};
