import {AgentError, type ContainerAddress} from '#src/api/agent.js';
import type {Naming} from '#src/api/naming.js';
import type {Behaviors} from '#src/simulation/rules/behaviors.js';
import {environment} from '#src/simulation/pod/environment.js';
import {specContainers, type ContainerRecord, type PodRecord, type SpecContainer} from '#src/simulation/pod/record.js';

/** The pods of simulated nodes, for those who look into them. */
export interface PodRecords {
  readonly behaviors: Behaviors;
  recordOf(key: string): PodRecord | undefined;
  /** Tells those who listen that something of a pod has changed. */
  notifyChanged(record: PodRecord): void;
  /** Ends the run of a container, because what it ran has ended. */
  end(record: PodRecord, container: string, exitCode: number): void;
}

/** A container that a request is about. */
export interface ContainerTarget {
  readonly record: PodRecord;
  readonly of: SpecContainer;
  readonly own: ContainerRecord;
}

/** Calls back when a pod has changed, until disposed. */
export const onPodChange = ({listeners}: PodRecord, run: () => void): Disposable => {
  listeners.add(run);
  return {[Symbol.dispose]: () => void listeners.delete(run)};
};

const quoted = (text: string): string => JSON.stringify(text);

/** Finds a pod among those of a node. Throws a refusal where it is not. */
export const podAt = (recordOf: (key: string) => PodRecord | undefined, node: string, {namespace, pod}: Pick<ContainerAddress, 'namespace' | 'pod'>): PodRecord => {
  const record = recordOf(`${namespace}/${pod}`);
  if (!record || record.nodeName !== node) throw new AgentError(404, `pod ${quoted(pod)} does not exist\n`);
  return record;
};

/** Finds a container among those of a node's pods. Throws a refusal where it is not. */
export const targetAt = (recordOf: (key: string) => PodRecord | undefined, node: string, address: ContainerAddress): ContainerTarget => {
  const record = podAt(recordOf, node, address);
  const {pod, container} = address;
  const of = [...specContainers(record.pod.spec!)].find(one => one.container.name === container);
  if (!of) throw new AgentError(404, `container ${quoted(container)} not found in pod ${quoted(pod)}\n`);
  const own = record.containers.find(({name}) => name === container);
  if (!own || record.rejection) throw new AgentError(400, `container ${quoted(container)} in pod ${quoted(pod)} is not available`);
  return {record, of, own};
};

/** The value of a reference in a text that a rule gives: where the container is, or something of its environment. */
export const valueIn = ({record: {pod, nodeName}, of: {container}}: ContainerTarget, naming: Naming): ((name: string) => string | undefined) => {
  const {metadata = {}} = pod;
  const values: Readonly<Record<string, string>> = {
    POD_NAME: metadata.name ?? '',
    POD_NAMESPACE: metadata.namespace ?? '',
    CONTAINER_NAME: container.name,
    NODE_NAME: nodeName,
    BEHAVIOR_ANNOTATION: naming.subKey('simulation', 'behavior'),
  };
  const own = environment(pod, container);
  return name => own.get(name) ?? (Object.hasOwn(values, name) ? values[name] : undefined);
};
