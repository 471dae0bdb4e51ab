// Computes the actions that sync a pod: a pure function of the pod, its state in the runtime and its probe results.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {ContainerInstance} from '#src/platlet/runtime/state.js';
import type {ActionInputs, ContainerToKill, PodActions} from './action-types.js';
import {containerHash, hashAnnotation} from './hash.js';
import {hasRegularRun, initActions, unknownText} from './init-actions.js';
import {latestOf, isRunning} from './instances.js';
import type {KillReason} from './kill.js';
import {isResize, ResizePlan, resizeText} from './resize-actions.js';
import {isToStart, restartsAll} from './restart.js';
import {sandboxState} from './sandbox.js';

/**
 * Whether the hash in the annotation of a run differs from that of the container. A run without a hash was not created
 * by an agent.
 */
export const isDefinitionChanged: ActionInputs['isChanged'] = (container, {annotations}) =>
  annotations[hashAnnotation] !== undefined && annotations[hashAnnotation] !== containerHash(container);

const nothing: Omit<PodActions, 'attempt'> = {
  killPod: false,
  toKill: [],
  restartAll: false,
  createSandbox: false,
  ephemeral: [],
  initContainers: [],
  containers: [],
};

const restartsWhenKilled = ({metadata, spec}: Frozen<Pod>, container: Frozen<AnyContainer>): boolean =>
  !metadata?.deletionTimestamp && (container.restartPolicy ?? spec?.restartPolicy ?? 'Always') !== 'Never';

/** Returns the actions that start a pod in a new sandbox; none if nothing is to be started. */
const anewActions = (pod: Frozen<Pod>, {runtime, gates}: ActionInputs, attempt: number): Partial<PodActions> => {
  const {containers, initContainers = []} = pod.spec!;
  const mayAnyRestart = containers.some(container => restartsWhenKilled(pod, container));
  if (attempt > 0 && runtime.containers.length > 0 && !mayAnyRestart) return {};
  const due = containers.filter(container => {
    const latest = latestOf(runtime, container.name);
    // A run that has not exited is lost with its sandbox.
    return latest?.state === 'running' ? restartsWhenKilled(pod, container) : isToStart(pod, container, latest, gates);
  });
  if (due.length === 0 && hasRegularRun(pod.spec!, runtime)) return {};
  const [first] = initContainers;
  return {createSandbox: true, ...(first ? {initContainers: [first.name]} : {containers: due.map(({name}) => name)})};
};

/** Returns why a running container is killed; undefined if it is not. */
const killReasonOf = (
  container: Frozen<AnyContainer>,
  instance: ContainerInstance,
  {probes, isChanged}: ActionInputs,
): {readonly message: string; readonly reason: KillReason} | undefined => {
  const {name} = container;
  if (isChanged(container, instance)) return {message: `Container ${name} definition changed`, reason: 'changed'};
  if (probes.resultOf('liveness', instance.id) === 'failure')
    return {message: `Container ${name} failed liveness probe`, reason: 'liveness'};
  if (probes.resultOf('startup', instance.id) === 'failure') return {message: `Container ${name} failed startup probe`, reason: 'startup'};
  return undefined;
};

/** Returns the actions on the regular containers of an initialized pod. */
const regularActions = (
  pod: Frozen<Pod>,
  inputs: ActionInputs,
  plan: ResizePlan,
): Pick<PodActions, 'killPod' | 'containers' | 'toKill'> => {
  const toStart: string[] = [];
  const toKill: ContainerToKill[] = [];
  let kept = 0;
  for (const container of pod.spec!.containers) {
    const latest = latestOf(inputs.runtime, container.name);
    if (!latest || !isRunning(latest)) {
      if (!isToStart(pod, container, latest, inputs.gates)) continue;
      toStart.push(container.name);
      if (latest?.state === 'unknown')
        toKill.push({instance: latest, container, message: unknownText(latest, 'Container'), reason: 'unknown'});
      continue;
    }
    const why = killReasonOf(container, latest, inputs);
    if (!why) {
      if (plan.keeps(container, latest)) {
        kept++;
        continue;
      }
      toStart.push(container.name);
      toKill.push({instance: latest, container, message: resizeText(container)});
      continue;
    }
    const restarts = why.reason === 'changed' || restartsWhenKilled(pod, container);
    if (restarts) toStart.push(container.name);
    toKill.push({instance: latest, container, reason: why.reason, message: restarts ? `${why.message}, will be restarted` : why.message});
  }
  return {killPod: kept === 0 && toStart.length === 0, containers: toStart, toKill};
};

/** Returns the actions that sync a pod which is to run. */
export const computeActions = (pod: Frozen<Pod>, inputs: ActionInputs): PodActions => {
  const {runtime, gates} = inputs;
  const state = sandboxState(pod, runtime);
  if (state.is === 'missing') {
    const {attempt, replaced} = state;
    return {...nothing, killPod: true, attempt, ...(replaced ? {sandbox: replaced.id} : {}), ...anewActions(pod, inputs, attempt)};
  }
  const {id: sandbox, attempt} = state.sandbox;
  const base = {...nothing, sandbox, attempt};
  const all = [...(pod.spec!.initContainers ?? []), ...pod.spec!.containers];
  if (
    gates?.restartAll &&
    !pod.metadata?.deletionTimestamp &&
    all.some(container => {
      const latest = latestOf(runtime, container.name);
      return latest && restartsAll(container, latest);
    })
  )
    return {...base, restartAll: true};
  const ephemeral = (pod.spec!.ephemeralContainers ?? []).filter(({name}) => !latestOf(runtime, name)).map(({name}) => name);
  const plan = new ResizePlan(pod, inputs.resize);
  const init = initActions(pod, inputs, plan);
  const {initContainers, toKill} = init;
  if (init.killPod || !init.isInitialized)
    return {...base, ephemeral, initContainers, toKill, killPod: init.killPod, ...resizeOf(plan, false)};
  const regular = regularActions(pod, inputs, plan);
  return {
    ...base,
    ephemeral,
    initContainers: regular.killPod ? [] : initContainers,
    containers: regular.containers,
    toKill: [...toKill, ...regular.toKill],
    killPod: regular.killPod,
    ...resizeOf(plan, true),
  };
};

const resizeOf = (plan: ResizePlan, isWhole: boolean): Pick<PodActions, 'resize'> => {
  const resize = plan.result(isWhole);
  return isResize(resize) ? {resize} : {};
};
