// Computes the actions on the init containers of a pod.

import type {Frozen} from '#src/api/key.js';
import type {Container, ContainerStatus, Pod, PodSpec} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {ActionInputs, ContainerToKill, PodActions} from './action-types.js';
import {hasFailed, latestOf} from './instances.js';
import {resizeText, type ResizePlan} from './resize-actions.js';
import {isToStart} from './restart.js';

/** The actions on init containers, and whether the regular containers may be started. */
export type InitActions = Pick<PodActions, 'killPod' | 'initContainers' | 'toKill'> & {readonly isInitialized: boolean};

/** Whether a regular container was ever created: then all init containers have completed. */
export const hasRegularRun = ({containers}: Frozen<PodSpec>, runtime: RuntimePod): boolean =>
  containers.some(({name}) => latestOf(runtime, name) !== undefined);

/** Whether a regular container has ever started, by the pod status. */
export const hasRegularStarted = ({containers}: Frozen<PodSpec>, statuses: ReadonlyMap<string, Frozen<ContainerStatus>>): boolean =>
  containers.some(({name}) => {
    const {state, lastState, restartCount = 0} = statuses.get(name) ?? {};
    return Boolean(state?.running ?? state?.terminated ?? lastState?.terminated) || restartCount > 0;
  });

/** Collects the actions on init containers, from the last container to the first. */
class InitWalk {
  readonly #pod: Frozen<Pod>;
  readonly #inputs: ActionInputs;
  readonly #containers: readonly Frozen<Container>[];
  readonly toKill: ContainerToKill[] = [];
  readonly toStart = new Set<number>();
  killPod = false;
  isInitialized: boolean;
  /** Whether a later container has run: earlier init containers are complete, but sidecars have to run. */
  #isPast: boolean;
  readonly #plan: ResizePlan;

  constructor(pod: Frozen<Pod>, inputs: ActionInputs, plan: ResizePlan) {
    this.#pod = pod;
    this.#plan = plan;
    this.#inputs = inputs;
    this.#containers = pod.spec?.initContainers ?? [];
    this.isInitialized = this.#isPast = hasRegularRun(pod.spec!, inputs.runtime);
  }

  run(): void {
    for (let index = this.#containers.length - 1; index >= 0 && !this.killPod; index--) {
      const container = this.#containers[index]!;
      const latest = latestOf(this.#inputs.runtime, container.name);
      if (!latest) {
        if (this.#isPast && isSidecar(container)) this.toStart.add(index);
        continue;
      }
      if (isSidecar(container)) this.#sidecar(index, container, latest);
      else if (!this.#isPast) this.#regular(index, container, latest);
      this.#isPast = true;
    }
    if (!this.#isPast) this.toStart.add(0);
  }

  #regular(index: number, container: Frozen<Container>, latest: ContainerInstance): void {
    if (latest.state === 'running') return;
    if (latest.state === 'created') return void this.toStart.add(index);
    if (!hasFailed(latest)) return this.#startNext(index);
    if (!isToStart(this.#pod, container, latest, this.#inputs.gates)) {
      this.killPod = true;
      return;
    }
    if (latest.state === 'unknown') this.#kill(container, latest, unknownText(latest), 'unknown');
    this.toStart.add(index);
  }

  #sidecar(index: number, container: Frozen<Container>, latest: ContainerInstance): void {
    if (latest.state === 'unknown') this.#kill(container, latest, unknownText(latest), 'unknown');
    if (latest.state !== 'running') return void this.toStart.add(index);
    if (this.#inputs.isChanged(container, latest)) {
      this.#kill(container, latest, `Container ${container.name} definition changed, will be restarted`, 'changed');
      return void this.toStart.add(index);
    }
    const {probes} = this.#inputs;
    const startup = probes.resultOf('startup', latest.id);
    if (startup === 'failure') {
      this.#kill(container, latest, `Init container ${container.name} failed startup probe`, 'startup');
      return void this.toStart.add(index);
    }
    if (startup !== 'success' && (container.startupProbe || startup)) return;
    this.#startNext(index);
    if (container.livenessProbe && probes.resultOf('liveness', latest.id) === 'failure') {
      this.#kill(container, latest, `Init container ${container.name} failed liveness probe`, 'liveness');
      this.toStart.add(index);
      return;
    }
    // A probe that has not told anything yet is waited for.
    if (container.livenessProbe && probes.resultOf('liveness', latest.id) === undefined) return;
    if (this.#plan.keeps(container, latest)) return;
    this.#kill(container, latest, resizeText(container), undefined);
    this.toStart.add(index);
  }

  /** The container has completed: the next one is due, unless it or a later one has already run. */
  #startNext(index: number): void {
    if (index === this.#containers.length - 1) this.isInitialized = true;
    else if (!this.#isPast) this.toStart.add(index + 1);
  }

  #kill(container: Frozen<Container>, instance: ContainerInstance, message: string, reason: ContainerToKill['reason']): void {
    this.toKill.push({instance, container, message, ...(reason ? {reason} : {})});
  }
}

/** The message of the kill of a container in an unknown state. */
export const unknownText = ({state}: ContainerInstance, what = 'Init container'): string =>
  `${what} is in "${state}" state, try killing it before restart`;

/** Returns the actions on the init containers of a pod with a usable sandbox. */
export const initActions = (pod: Frozen<Pod>, inputs: ActionInputs, plan: ResizePlan): InitActions => {
  const containers = pod.spec?.initContainers ?? [];
  if (containers.length === 0) return {killPod: false, initContainers: [], toKill: [], isInitialized: true};
  const walk = new InitWalk(pod, inputs, plan);
  walk.run();
  return {
    killPod: walk.killPod,
    initContainers: walk.killPod ? [] : [...walk.toStart].sort((a, b) => a - b).map(index => containers[index]!.name),
    toKill: walk.toKill,
    isInitialized: walk.isInitialized && !walk.killPod,
  };
};
