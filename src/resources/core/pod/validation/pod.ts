import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {sameJson} from '#src/api/equal.js';
import type {Affinity, Container, NodeAffinity, NodeSelectorTerm, Pod, PodSpec, Toleration} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {semanticallyEqual} from '#src/resources/validation/equality.js';
import {internalDiff, internalForm, internalList, sameInternalForm} from '#src/schema/error-texts/internal-form.js';
import {rangeText} from '#src/resources/validation/values.js';
import {allowancesOf} from './allowances.js';
import {podAnnotations, validatePodAnnotations, validatePodAnnotationUpdate, validateProfilesMatch} from './annotations.js';
import {validateImageName} from './containers.js';
import type {PodSpecRules} from './rules.js';
import {validateTolerations} from './scheduling.js';
import {validatePodSpec} from './spec.js';

// Validation of whole pods: on creation, and of updates of spec and annotations. The status and the other subresources
// have modules of their own.

/** Returns the rules for a pod; `old` is the stored one, whose invalid fields may stay. */
export const podRules = (pod: Readonly<Pod>, old: Readonly<Pod> | undefined, context: HookContext): PodSpecRules => ({
  naming: context.naming,
  gate: context.gate,
  allowPrivileged: context.allowPrivileged,
  allow: allowancesOf(old?.spec, old?.metadata, context),
  isPod: true,
  podName: pod.metadata?.name,
  isMirror: pod.metadata?.annotations?.[podAnnotations(context.naming).mirror] !== undefined,
});

/** Validates a new or updated pod on its own. */
export function* validatePodObject(pod: Readonly<Pod>, rules: PodSpecRules): Iterable<FieldError> {
  const spec: PodSpec = pod.spec ?? {containers: []};
  yield* validatePodAnnotations(pod.metadata?.annotations, spec, 'metadata.annotations', rules);
  yield* validatePodSpec(spec, 'spec', rules);
  if (!spec.serviceAccountName) {
    for (const [i, {projected}] of (spec.volumes ?? []).entries()) {
      for (const [j, source] of (projected?.sources ?? []).entries()) {
        if (source.serviceAccountToken)
          yield forbiddenField(
            `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`,
            'must not be specified when serviceAccountName is not set',
          );
      }
    }
  }
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [i, container] of (spec[list] ?? []).entries()) yield* validateImageName(container, `spec.${list}[${i}]`);
  }
}

/** Validates a new pod. */
export function* validateNewPod(pod: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  yield* validatePodObject(pod, podRules(pod, undefined, context));
  const spec = pod.spec!;
  if (spec?.ephemeralContainers?.length) yield forbiddenField('spec.ephemeralContainers', 'cannot be set on create');
  if (spec?.nodeName && spec.schedulingGates?.length)
    yield forbiddenField('spec.nodeName', 'cannot be set until all schedulingGates have been cleared');
  if (spec) yield* validateProfilesMatch(pod.metadata?.annotations, spec, 'spec', context.naming);
}

const largestInt32 = 2147483647;
const changeable =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),' +
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

function* deadline(spec: PodSpec, old: PodSpec): Iterable<FieldError> {
  const path = 'spec.activeDeadlineSeconds';
  const [now, before] = [spec.activeDeadlineSeconds, old.activeDeadlineSeconds];
  if (now === undefined) {
    if (before !== undefined) yield invalid(path, undefined, 'must not update from a positive integer to nil value');
  } else if (now < 0 || now > largestInt32) yield invalid(path, now, rangeText(0, largestInt32));
  else if (before !== undefined && before < now) yield invalid(path, now, 'must be less than or equal to previous value');
}

/** Validates that tolerations are only added, or change their seconds. */
function* tolerations(list: readonly Toleration[], old: readonly Toleration[], {allow}: PodSpecRules): Iterable<FieldError> {
  const textOf = ({key = '', operator = '', value = '', effect = ''}: Toleration): string => JSON.stringify([key, operator, value, effect]);
  const kept = new Set(old.length > 0 ? list.map(textOf) : []);
  if (old.some(before => !kept.has(textOf(before)))) {
    yield forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds');
  } else yield* validateTolerations(list, 'spec.tolerations', allow.comparingTolerations);
}

/** Validates the images of an update. */
function* images(list: readonly Container[], path: string): Iterable<FieldError> {
  for (const [i, container] of list.entries()) {
    if (!container.image) yield required(`${path}[${i}].image`);
    yield* validateImageName(container, `${path}[${i}]`);
  }
}

function* gates({schedulingGates: list = []}: PodSpec, {schedulingGates: old = []}: PodSpec): Iterable<FieldError> {
  for (const [i, {name}] of list.entries()) {
    if (!old.some(gate => gate.name === name))
      yield forbiddenField(`spec.schedulingGates[${i}].name`, `only deletion is allowed, but found new scheduling gate '${name}'`);
  }
}

const onlyAdds = <T>(list: readonly T[] = [], old: readonly T[] = []): boolean =>
  list.length >= old.length && old.every((item, i) => semanticallyEqual(item, list[i]));

const termOnlyAdds = (term: NodeSelectorTerm, old: NodeSelectorTerm): boolean => {
  const wasEmpty = !old.matchExpressions?.length && !old.matchFields?.length;
  if (wasEmpty) return !term.matchExpressions?.length && !term.matchFields?.length;
  return onlyAdds(term.matchExpressions, old.matchExpressions) && onlyAdds(term.matchFields, old.matchFields);
};

function* nodeAffinity(affinity: NodeAffinity | undefined, old: NodeAffinity | undefined): Iterable<FieldError> {
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const path = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  if (before.length === 0) return;
  if (before.length !== terms.length)
    return yield invalid(
      path,
      internalList(affinity?.requiredDuringSchedulingIgnoredDuringExecution, 'nodeSelectorTerms', 'NodeSelectorTerm'),
      'no additions/deletions to non-empty NodeSelectorTerms list are allowed',
    );
  for (const [i, term] of before.entries())
    if (!termOnlyAdds(terms[i]!, term))
      yield invalid(`${path}[${i}]`, internalForm('NodeSelectorTerm', terms[i]!), 'only additions are allowed (no mutations or deletions)');
}

/** Validates scheduling constraints while a pod has scheduling gates: they may only become narrower (KEP-3838). */
function* whileGated(spec: PodSpec, old: PodSpec): Iterable<FieldError> {
  if (!old.schedulingGates?.length) return;
  const {nodeSelector = {}} = spec;
  if (Object.entries(old.nodeSelector ?? {}).some(([key, value]) => nodeSelector[key] !== value)) {
    yield invalid('spec.nodeSelector', nodeSelector, 'only additions to spec.nodeSelector are allowed (no mutations or deletions)');
  }
  yield* nodeAffinity(spec.affinity?.nodeAffinity, old.affinity?.nodeAffinity);
}

const withImages = (
  containers: readonly Container[] | undefined,
  old: readonly Container[] | undefined,
): readonly Container[] | undefined =>
  containers?.map((container, i) => ({...container, ...(old?.[i]?.image === undefined ? {} : {image: old[i].image})}));

/**
 * Returns the new affinity with the old node affinity; undefined if there was none and only node affinity was added.
 */
const withOldNodes = (affinity: Affinity | undefined, old: Affinity | undefined): Affinity | undefined => {
  const {nodeAffinity: _, ...others} = affinity ?? {};
  const nodes = old?.nodeAffinity;
  if (affinity ? !old && Object.keys(others).length === 0 : !nodes) return undefined;
  return {...others, ...(nodes ? {nodeAffinity: nodes} : {})};
};

/** Returns the new spec with all mutable fields reverted. Any remaining difference is forbidden. */
const withoutChanges = (spec: PodSpec, old: PodSpec): Record<string, unknown> => {
  const gated = Boolean(old.schedulingGates?.length);
  const grace = (old.terminationGracePeriodSeconds ?? 0) < 0 && spec.terminationGracePeriodSeconds === 1;
  return {
    ...spec,
    containers: withImages(spec.containers, old.containers),
    initContainers: withImages(spec.initContainers, old.initContainers),
    activeDeadlineSeconds: old.activeDeadlineSeconds,
    schedulingGates: old.schedulingGates,
    tolerations: old.tolerations,
    ...(grace ? {terminationGracePeriodSeconds: old.terminationGracePeriodSeconds} : {}),
    ...(gated ? {nodeSelector: old.nodeSelector, affinity: withOldNodes(spec.affinity, old.affinity)} : {}),
  };
};

/** Validates an update of a pod's spec and annotations. */
export function* validatePodUpdate(pod: Readonly<Pod>, old: Readonly<Pod>, context: HookContext): Iterable<FieldError> {
  const rules = podRules(pod, old, context);
  yield* validatePodObject(pod, rules);
  const [spec, before] = [pod.spec!, old.spec!];
  yield* validatePodAnnotationUpdate(pod, old, rules);
  for (const list of ['containers', 'initContainers'] as const) {
    if ((spec[list] ?? []).length !== (before[list] ?? []).length)
      return yield forbiddenField(`spec.${list}`, 'pod updates may not add or remove containers');
    yield* images(spec[list] ?? [], `spec.${list}`);
  }
  const late = [...deadline(spec, before)];
  yield* late;
  if (late.length > 0 && spec.activeDeadlineSeconds !== undefined) return;
  yield* tolerations(spec.tolerations ?? [], before.tolerations ?? [], rules);
  yield* gates(spec, before);
  if (sameJson(spec, before)) return;
  yield* whileGated(spec, before);
  const rest = withoutChanges(spec, before);
  if (!sameInternalForm('PodSpec', rest, before))
    yield forbiddenField('spec', `pod updates may not change fields other than ${changeable}\n${internalDiff('PodSpec', before, rest)}`);
}
