import type {AgentMetrics} from './agent-metrics.js';

/** The procedures whose operations do not have their names. */
const otherNames: Readonly<Record<string, string>> = {UpdateContainerResources: 'update_container'};

/**
 * Returns the name of the operation of a procedure of the runtime: `run_podsandbox` of
 * `/runtime.v1.RuntimeService/RunPodSandbox`.
 */
export const operationOf = (path: string): string => {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const snake = name
    .replace('PodSandbox', 'Podsandbox')
    .replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`)
    .slice(1);
  return otherNames[name] ?? snake;
};

/** Returns what counts the calls of a runtime. */
export const runtimeCalls =
  ({runtimeCalls: calls, runtimeDuration, runtimeErrors}: AgentMetrics) =>
  (path: string, seconds: number, hasFailed: boolean): void => {
    const labels = {operation_type: operationOf(path)};
    calls.add(labels);
    runtimeDuration.observe(seconds, labels);
    if (hasFailed) runtimeErrors.add(labels);
  };
