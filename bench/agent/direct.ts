// The calls that make a pod with one container, without an agent.

import {aContainer, aSandbox} from '#test/node/pods.js';
import type {Containerd} from '#test/node/containerd.js';
import type {CriRuntime} from '#src/platlet/cri/runtime.js';

/** A pod that was made directly. */
export interface DirectPod {
  readonly sandbox: string;
  readonly container: string;
  /** From the first call to the end of the last. */
  readonly ms: number;
}

/** The procedures that make a pod. */
export const making: ReadonlySet<string> = new Set(['RunPodSandbox', 'CreateContainer', 'StartContainer']);

/** Makes a pod. */
export const makePod = async (containerd: Containerd, runtime: CriRuntime, name: string): Promise<DirectPod> => {
  // Without the labels of a pod, since the agent ends pods that it does not know.
  const config = aSandbox(containerd, name, {labels: {}});
  const startedAt = performance.now();
  const sandbox = await runtime.runSandbox(config, '');
  const container = await runtime.createContainer(sandbox, aContainer(config, 'exec sleep 3600', {labels: {}}), config);
  await runtime.startContainer(container);
  return {sandbox, container, ms: performance.now() - startedAt};
};

export const removePod = async (runtime: CriRuntime, {sandbox, container}: DirectPod): Promise<void> => {
  await runtime.stopContainer(container, 0);
  await runtime.stopSandbox(sandbox);
  await runtime.removeSandbox(sandbox);
};
