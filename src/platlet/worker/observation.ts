// The state of a pod in the runtime, with the termination messages of its containers.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {specContainers} from '#src/model/pod/spec-containers.js';
import type {PodPorts} from '#src/platlet/pod/ports.js';
import {newestSandbox} from '#src/platlet/pod/sandbox.js';
import {limitedMessage, messageLimits, terminationMessage, wantsLog} from '#src/platlet/pod/termination-message.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';

/** Reads the state of a pod from the runtime. Termination messages are read once. */
export class Observer {
  readonly #parts: Pick<PodPorts, 'runtime' | 'output' | 'cgroups'>;
  readonly #uid: string;
  readonly #messages = new Map<string, string>();

  constructor(parts: Pick<PodPorts, 'runtime' | 'output' | 'cgroups'>, uid: string) {
    this.#parts = parts;
    this.#uid = uid;
  }

  async look(pod: Frozen<Pod>): Promise<RuntimePod> {
    const runtime = await this.#measured(pod, await this.#parts.runtime.podStatus(this.#uid));
    if (runtime.containers.every(({state}) => state !== 'exited')) return runtime;
    const known = new Map([...specContainers(pod.spec!)].map(({container}) => [container.name, container]));
    const containers = await Promise.all(
      runtime.containers.map(async instance => {
        const container = known.get(instance.name);
        if (instance.state !== 'exited' || !container) return instance;
        const message = limitedMessage(await this.#messageOf(instance, container), known.size);
        const {message: _, ...rest} = instance;
        return message ? {...rest, message} : rest;
      }),
    );
    for (const id of this.#messages.keys()) if (!runtime.containers.some(instance => instance.id === id)) this.#messages.delete(id);
    return {...runtime, containers};
  }

  /** Adds what running containers are limited to, where the runtime does not tell. */
  async #measured(pod: Frozen<Pod>, runtime: RuntimePod): Promise<RuntimePod> {
    const isUnknown = ({state, resources}: ContainerInstance): boolean => state === 'running' && !resources;
    if (!runtime.containers.some(isUnknown)) return runtime;
    const containers = await Promise.all(
      runtime.containers.map(async instance => {
        const resources = isUnknown(instance) ? await this.#parts.cgroups.limitsOf(pod, instance.id) : undefined;
        return resources ? {...instance, resources} : instance;
      }),
    );
    return {...runtime, containers};
  }

  async #messageOf(instance: ContainerInstance, container: Parameters<typeof wantsLog>[0]): Promise<string> {
    const known = this.#messages.get(instance.id);
    if (known !== undefined) return known;
    const {output} = this.#parts;
    const file = await output.terminationMessage(instance);
    const log = wantsLog(container, instance, file) ? await output.logTail(instance, messageLimits.logLines, messageLimits.log) : undefined;
    const message = terminationMessage(instance, file, log);
    this.#messages.set(instance.id, message);
    return message;
  }
}

/** Returns the addresses of a pod: of its sandbox, or of the node in the host network. */
export const addressesOf = ({spec}: Frozen<Pod>, runtime: RuntimePod, node: readonly string[]): readonly string[] => {
  if (spec?.hostNetwork) return node;
  const sandbox = newestSandbox(runtime);
  return sandbox?.isReady ? oneOfEachFamily(node, sandbox.addresses) : [];
};

/** Returns one address per IP family, the primary family of the node first. */
export const oneOfEachFamily = ([first = '']: readonly string[], addresses: readonly string[]): readonly string[] => {
  const isSix = (address: string): boolean => address.includes(':');
  const [primary, secondary] = [isSix(first), !isSix(first)].map(six => addresses.find(address => isSix(address) === six));
  return [primary, secondary].filter(address => address !== undefined);
};
