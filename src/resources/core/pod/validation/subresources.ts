import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import {collectErrors} from '#src/api/collect-errors.js';
import type {Container, Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {podQosClass, qosClassOf} from '#src/model/pod/qos.js';
import type {HookContext} from '#src/resources/definition.js';
import {isSidecar} from '#src/model/pod/restart.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {internalDiff, sameInternalForm} from '#src/schema/error-texts/internal-form.js';
import {podAnnotations, validatePodAnnotationUpdate} from './annotations.js';
import {podRules, validatePodObject} from './pod.js';

const isMirror = ({metadata}: Readonly<Pod>, {naming}: HookContext): boolean =>
  metadata?.annotations?.[podAnnotations(naming).mirror] !== undefined;

/** The path of errors about the whole object. */
const whole = '[]';

/** Validates that ephemeral containers are only added. */
export function* validateEphemeralUpdate(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  if (isMirror(old, context)) return yield forbiddenField(whole, 'static pods do not support ephemeral containers');
  const rules = podRules(pod, old, context);
  yield* validatePodObject(pod, rules);
  yield* validatePodAnnotationUpdate(pod, old, rules);
  const path = 'spec.ephemeralContainers';
  for (const before of old.spec?.ephemeralContainers ?? []) {
    const now = pod.spec?.ephemeralContainers?.find(({name}) => name === before.name);
    if (!now) yield forbiddenField(path, `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed\n`);
    else if (!sameInternalForm('EphemeralContainer', now, before))
      yield forbiddenField(
        path,
        `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed\n${internalDiff('EphemeralContainer', before, now)}`,
      );
  }
}

const hasWholeResources = ({spec}: Readonly<Pod>): boolean =>
  Object.keys({...spec?.resources?.requests, ...spec?.resources?.limits}).length > 0;

/** Reports whether the node reports allocated resources, without which it may not support resizing. */
const nodeCanResize = ({status}: Readonly<Pod>): boolean => {
  const running = status?.containerStatuses?.find(({state}) => state?.running);
  return !running || running.resources !== undefined;
};

const removed = (list: Readonly<Record<string, string>> = {}, old: Readonly<Record<string, string>> = {}): boolean =>
  Object.keys(old).some(name => !Object.hasOwn(list, name));

function* amounts({requests, limits}: ResourceRequirements, old: ResourceRequirements, path: string): Iterable<FieldError> {
  if (removed(requests, old.requests)) yield forbiddenField(`${path}.requests`, 'resource requests cannot be removed');
  if (removed(limits, old.limits)) yield forbiddenField(`${path}.limits`, 'resource limits cannot be removed');
}

const resizable = ['cpu', 'memory'];

const others = (list: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(list).filter(([name]) => !resizable.includes(name)));

const sameOthers = ({requests, limits}: ResourceRequirements, old: ResourceRequirements): boolean =>
  semanticallyEqual(others(requests), others(old.requests)) && semanticallyEqual(others(limits), others(old.limits));

/** Reports whether containers differ in more than cpu and memory. One with claims always does. */
const differsOtherwise = ({resources = {}, ...rest}: Container, {resources: before = {}, ...old}: Container): boolean =>
  !semanticallyEqual(rest, old) || !sameOthers(resources, before) || Boolean(before.claims?.length);

function* order(spec: PodSpec, old: PodSpec): Iterable<FieldError> {
  for (const list of ['containers', 'initContainers'] as const) {
    const [now, before] = [spec[list] ?? [], old[list] ?? []];
    if (now.length !== before.length) yield forbiddenField(`spec.${list}`, `${list} may not be added or removed on resize`);
    else
      for (const [i, {name}] of before.entries())
        if (now[i]!.name !== name) yield forbiddenField(`spec.${list}[${i}].name`, `${list} may not be renamed or reordered on resize`);
  }
}

/** Validates changes of pod-level resources (KEP-5419). */
function* podResources({resources: now}: PodSpec, {resources: before}: PodSpec): Iterable<FieldError> {
  if (before && !now) return yield forbiddenField('spec.resources', 'pod-level resources cannot be removed');
  if (before && removed(now?.requests, before.requests))
    yield forbiddenField('spec.resources.requests', 'pod-level resource requests cannot be removed');
  if (before && removed(now?.limits, before.limits))
    yield forbiddenField('spec.resources.limits', 'pod-level resource limits cannot be removed');
  if (!sameOthers(now ?? {}, before ?? {}) || !semanticallyEqual(now?.claims, before?.claims))
    yield forbiddenField('spec', 'only cpu and memory resources are mutable at pod-level');
}

function* containers(spec: PodSpec, old: PodSpec): Iterable<FieldError> {
  const [initial, oldInitial] = [spec.initContainers ?? [], old.initContainers ?? []];
  for (const [i, before] of oldInitial.entries()) {
    if (isSidecar(before)) yield* amounts(initial[i]!.resources ?? {}, before.resources ?? {}, `spec.initContainers[${i}].resources`);
  }
  for (const [i, before] of old.containers.entries())
    yield* amounts(spec.containers[i]!.resources ?? {}, before.resources ?? {}, `spec.containers[${i}].resources`);
  for (const [i, before] of old.containers.entries())
    if (differsOtherwise(spec.containers[i]!, before)) yield forbiddenField('spec', 'only cpu and memory resources are mutable');
  for (const [i, before] of oldInitial.entries()) {
    if (isSidecar(before)) {
      if (differsOtherwise(initial[i]!, before))
        yield forbiddenField('spec', 'only cpu and memory resources for sidecar containers are mutable');
    } else if (!semanticallyEqual(initial[i], before))
      yield forbiddenField('spec', 'resources for non-sidecar init containers are immutable');
  }
}

/** Validates a resize, which changes only cpu and memory of containers (KEP-1287). */
export function* validateResize(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  if (isMirror(old, context)) return yield forbiddenField(whole, 'static pods cannot be resized');
  if (old.spec?.os?.name === 'windows') return yield forbiddenField(whole, 'windows pods cannot be resized');
  yield* validatePodObject(pod, podRules(pod, old, context));
  if (podQosClass(old) !== qosClassOf(pod.spec!))
    yield invalid('spec', old.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing');
  if (!nodeCanResize(old)) yield forbiddenField('spec', 'Pod running on node without support for resize');
  if (hasWholeResources(pod) || hasWholeResources(old)) {
    if (!context.gate('InPlacePodLevelResourcesVerticalScaling')) {
      return yield forbiddenField(
        whole,
        'resize of pods with pod-level resources is forbidden when InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled',
      );
    }
    yield* podResources(pod.spec!, old.spec!);
  }
  const misplaced = collectErrors(order(pod.spec!, old.spec!));
  yield* misplaced;
  if (misplaced.length === 0) yield* containers(pod.spec!, old.spec!);
}
