import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {Measurement, NodeUsage, PodUsage, ResourceUsage, UsageReader} from '#src/api/node/usage.js';
import {isSwitchedOff} from './node/agent.js';
import type {PodRecord} from './pod/record.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {UsageSetting} from './rules/behavior.js';
import type {Behaviors} from './rules/behaviors.js';
import {podsByNode, type SimulationContext} from '#src/simulation/node/context.js';

/** The measurement window of usage. */
const windowMs = 10_000;

/** The base usage of a node. */
export const idleNodeUsage = {cpuMillis: 50, memoryBytes: 256 * 1024 ** 2} satisfies ResourceUsage;

export const usageAmount = (of: UsageSetting, {resources}: Frozen<AnyContainer>, name: 'cpu' | 'memory', scale: number): number =>
  'amount' in of ? of.amount : of.ofRequest * scale * quantityNumber(parseQuantity(resources?.requests?.[name] ?? '0'));

/** Returns the reader of the usage of running pods and nodes, from the rules and pod annotations. */
export const usageReader = (
  context: SimulationContext,
  {behaviors, recordOf}: {readonly behaviors: Behaviors; recordOf(key: string): PodRecord | undefined},
): UsageReader => {
  const {clock, naming, agents} = context;
  const measured = (): Measurement => ({timestamp: clock.now(), windowMs});
  const isReporting = (name: string): boolean => {
    const agent = agents.get(name);
    return agent !== undefined && agent.registered && !isSwitchedOff(naming, agent, context.nodes.get(name), clock.monotonic());
  };

  const podUsage = (pod: Frozen<Pod> | undefined): PodUsage | undefined => {
    const {namespace = '', name = '', labels = {}} = pod?.metadata ?? {};
    const record = recordOf(`${namespace}/${name}`);
    if (!pod || !record || !isReporting(record.nodeName)) return undefined;
    const running = new Set(record.containers.filter(({state}) => state.is === 'running').map(container => container.name));
    const containers = [...specContainers(pod.spec!)].flatMap(of => {
      if (!running.has(of.container.name)) return [];
      const {cpu, memory} = behaviors.of(pod, of);
      return [
        {
          name: of.container.name,
          cpuMillis: usageAmount(cpu, of.container, 'cpu', 1000),
          memoryBytes: usageAmount(memory, of.container, 'memory', 1),
        },
      ];
    });
    return containers.length > 0 ? {...measured(), namespace, name, labels, containers} : undefined;
  };

  const nodeUsage = (name: string): NodeUsage | undefined => {
    const node = context.nodes.get(name);
    if (!node || !isReporting(name)) return undefined;
    const sum = {...idleNodeUsage};
    for (const pod of context.pods.by(podsByNode, name)) {
      for (const {cpuMillis, memoryBytes} of podUsage(pod)?.containers ?? []) {
        sum.cpuMillis += cpuMillis;
        sum.memoryBytes += memoryBytes;
      }
    }
    return {...measured(), name, labels: node.metadata?.labels ?? {}, ...sum};
  };

  return {
    pod: (namespace, name) => podUsage(context.pods.get({namespace, name})),
    pods: namespace => context.pods.list(namespace).flatMap(pod => podUsage(pod) ?? []),
    node: nodeUsage,
    nodes: () => [...agents.keys()].flatMap(name => nodeUsage(name) ?? []),
  };
};
