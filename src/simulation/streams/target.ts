import {AgentError, type ContainerAddress} from '#src/api/node/agent.js';
import type {Naming} from '#src/api/naming.js';
import type {Behaviors} from '#src/simulation/rules/behaviors.js';
import {environment} from '#src/simulation/command/environment.js';
import type {ContainerRecord, PodRecord} from '#src/simulation/pod/record.js';
import {specContainers, type SpecContainer} from '#src/model/pod/spec-containers.js';

/** Access to the records of pods, for requests to the agent of a node. */
export interface PodRecords {
  readonly behaviors: Behaviors;
  recordOf(key: string): PodRecord | undefined;
  /** Notifies the listeners of a pod. */
  notifyChanged(record: PodRecord): void;
  /** Ends the run of a container whose program has exited. */
  end(record: PodRecord, container: string, exitCode: number): void;
}

/** The container that a request addresses. */
export interface ContainerTarget {
  readonly record: PodRecord;
  readonly of: SpecContainer;
  readonly own: ContainerRecord;
}

/** Calls `run` at each change of a pod, until disposed of. */
export const onPodChange = ({listeners}: PodRecord, run: () => void): Disposable => {
  listeners.add(run);
  return {[Symbol.dispose]: () => void listeners.delete(run)};
};

const quoted = (text: string): string => JSON.stringify(text);

/** Returns a pod of a node. Throws an agent error if there is none. */
export const podAt = (
  recordOf: (key: string) => PodRecord | undefined,
  node: string,
  {namespace, pod}: Pick<ContainerAddress, 'namespace' | 'pod'>,
): PodRecord => {
  const record = recordOf(`${namespace}/${pod}`);
  if (!record || record.nodeName !== node) throw new AgentError(404, `pod ${quoted(pod)} does not exist\n`);
  return record;
};

/** Returns a container of a node's pods. Throws an agent error if there is none. */
export const targetAt = (recordOf: (key: string) => PodRecord | undefined, node: string, address: ContainerAddress): ContainerTarget => {
  const record = podAt(recordOf, node, address);
  const {pod, container} = address;
  const of = [...specContainers(record.pod.spec!)].find(one => one.container.name === container);
  if (!of) throw new AgentError(404, `container ${quoted(container)} not found in pod ${quoted(pod)}\n`);
  const own = record.containers.find(({name}) => name === container);
  if (!own || record.rejection) throw new AgentError(400, `container ${quoted(container)} in pod ${quoted(pod)} is not available`);
  return {record, of, own};
};

/** Returns the lookup of references in texts of rules: pod fields and environment variables. */
export const valueIn = (
  {record: {pod, nodeName}, of: {container}}: ContainerTarget,
  naming: Naming,
): ((name: string) => string | undefined) => {
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
