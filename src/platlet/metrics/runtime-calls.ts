import type {AgentMetrics} from './agent-metrics.js';

/** The procedures whose operation label differs from their name. */
const otherNames: Readonly<Record<string, string>> = {UpdateContainerResources: 'update_container'};

/**
 * Returns the operation label of a runtime procedure: `run_podsandbox` for `/runtime.v1.RuntimeService/RunPodSandbox`.
 */
export const operationOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const snake = name
    .replace('PodSandbox', 'Podsandbox')
    .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    .slice(1);
  return otherNames[name] ?? snake;
};

/** Returns the observer of runtime calls. */
export const runtimeCalls =
  ({runtimeCalls: calls, runtimeDuration, runtimeErrors}: AgentMetrics) =>
  (path: string, seconds: number, hasFailed: boolean): void => {
    const labels = {operation_type: operationOf(path)};
    calls.add(labels);
    runtimeDuration.observe(seconds, labels);
    if (hasFailed) runtimeErrors.add(labels);
  };
