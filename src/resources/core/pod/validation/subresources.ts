import {forbiddenField, invalid, type FieldError} from '#src/api/field-error.js';
import type {Container, Pod, PodSpec, ResourceRequirements} from '#src/api/pod.js';
import {podQuality, qualityOf} from '#src/model/pod/quality.js';
import type {HookContext} from '#src/resources/definition.js';
import {isSidecar} from '#src/resources/core/pod/containers.js';
import {sameContent} from '#src/resources/validation/equality.js';
import {podAnnotations} from './annotations.js';
import {differences, podRules, validatePodItself} from './pod.js';

const isMirror = ({metadata}: Readonly<Pod>, {naming}: HookContext): boolean => metadata?.annotations?.[podAnnotations(naming).mirror] !== undefined;

/** Containers to look with are added; what is there stays as it is. */
export function* validateEphemeralUpdate(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  if (isMirror(old, context)) return yield forbiddenField('', 'static pods do not support ephemeral containers');
  yield* validatePodItself(pod, podRules(pod, old, context));
  const path = 'spec.ephemeralContainers';
  for (const before of old.spec?.ephemeralContainers ?? []) {
    const now = pod.spec?.ephemeralContainers?.find(({name}) => name === before.name);
    if (!now) yield forbiddenField(path, `existing ephemeral containers ${JSON.stringify(before.name)} may not be removed\n`);
    else if (!sameContent(now, before)) yield forbiddenField(path, `existing ephemeral containers ${JSON.stringify(before.name)} may not be changed\n${differences(now, before)}`);
  }
}

const hasWholeResources = ({spec}: Readonly<Pod>): boolean => Object.keys({...spec?.resources?.requests, ...spec?.resources?.limits}).length > 0;

/** Whether the node tells what containers got, without which nobody knows whether it can change that. */
const nodeCanResize = ({status}: Readonly<Pod>): boolean => {
  const running = status?.containerStatuses?.find(({state}) => state?.running);
  return !running || running.resources !== undefined;
};

const removed = (list: Readonly<Record<string, string>> = {}, old: Readonly<Record<string, string>> = {}): boolean => Object.keys(old).some(name => list[name] === undefined);

function* amounts({requests, limits}: ResourceRequirements, old: ResourceRequirements, path: string): Iterable<FieldError> {
  if (removed(requests, old.requests)) yield forbiddenField(`${path}.requests`, 'resource requests cannot be removed');
  if (removed(limits, old.limits)) yield forbiddenField(`${path}.limits`, 'resource limits cannot be removed');
}

const resizable = ['cpu', 'memory'];

const others = (list: Readonly<Record<string, string>> = {}): Record<string, string> => Object.fromEntries(Object.entries(list).filter(([name]) => !resizable.includes(name)));

/** Whether containers differ in more than what they may have of cpu and memory. */
const differsOtherwise = ({resources, ...rest}: Container, {resources: before, ...old}: Container): boolean =>
  !sameContent(rest, old) || !sameContent({...resources, requests: others(resources?.requests), limits: others(resources?.limits)}, {...before, requests: others(before?.requests), limits: others(before?.limits)});

function* containers(spec: PodSpec, old: PodSpec): Iterable<FieldError> {
  for (const [i, before] of (old.initContainers ?? []).entries()) {
    const now = spec.initContainers![i]!;
    if (!isSidecar(before)) {
      if (!sameContent(now, before)) yield forbiddenField('spec', 'resources for non-sidecar init containers are immutable');
      continue;
    }
    yield* amounts(now.resources ?? {}, before.resources ?? {}, `spec.initContainers[${i}].resources`);
    if (differsOtherwise(now, before)) yield forbiddenField('spec', 'only cpu and memory resources for sidecar containers are mutable');
  }
  for (const [i, before] of old.containers.entries()) {
    const now = spec.containers[i]!;
    yield* amounts(now.resources ?? {}, before.resources ?? {}, `spec.containers[${i}].resources`);
    if (differsOtherwise(now, before)) yield forbiddenField('spec', 'only cpu and memory resources are mutable');
  }
}

const sameLengths = (spec: PodSpec, old: PodSpec): boolean =>
  spec.containers.length === old.containers.length && (spec.initContainers ?? []).length === (old.initContainers ?? []).length;

/** What containers may have of cpu and memory changes while they run, and nothing else (KEP-1287). */
export function* validateResize(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  if (!context.gate('InPlacePodLevelResourcesVerticalScaling') && (hasWholeResources(pod) || hasWholeResources(old))) {
    return yield forbiddenField('', 'pods with pod-level resources cannot be resized');
  }
  if (isMirror(old, context)) return yield forbiddenField('', 'static pods cannot be resized');
  if (old.spec?.os?.name === 'windows') return yield forbiddenField('', 'windows pods cannot be resized');
  yield* validatePodItself(pod, podRules(pod, old, context));
  if (podQuality(old) !== qualityOf(pod.spec!)) yield invalid('spec', old.status?.qosClass ?? '', 'Pod QOS Class may not change as a result of resizing');
  if (!nodeCanResize(old)) yield forbiddenField('spec', 'Pod running on node without support for resize');
  if (!sameLengths(pod.spec!, old.spec!)) return yield forbiddenField('spec', 'only cpu and memory resources are mutable');
  yield* amounts(pod.spec!.resources ?? {}, old.spec!.resources ?? {}, 'spec.resources');
  yield* containers(pod.spec!, old.spec!);
}
