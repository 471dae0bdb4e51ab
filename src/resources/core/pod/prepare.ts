import type {Container, Pod, PodAffinityTerm, PodSpec} from '#src/api/pod.js';
import {isWrong} from '#src/api/collect-errors.js';
import {copyJson} from '#src/base/json/json-copy.js';
import {wireTime} from '#src/api/time.js';
import {sameJson} from '#src/api/equal.js';
import {qosClassOf} from '#src/model/pod/qos.js';
import type {HookContext} from '#src/resources/definition.js';
import {everyContainer} from './validation/every-container.js';
import {dropDisabledFields, dropDisabledStatusFields} from './disabled-fields.js';
import {podTerms} from './validation/affinity.js';
import {appArmorOf, podAnnotations} from './validation/annotations.js';
import {validateAppArmor} from './validation/security.js';
import {mergesSpreadKeys} from './validation/spreading.js';
import {appArmorText} from './warnings.js';

type Labels = Readonly<Record<string, string>>;

/** Adds the pod's own label values to a selector. */
const addOwnValues = (
  selector: NonNullable<PodAffinityTerm['labelSelector']>,
  keys: readonly string[] = [],
  operator: 'In' | 'NotIn',
  labels: Labels,
): void => {
  for (const key of keys) {
    const value = labels[key];
    if (value !== undefined) (selector.matchExpressions ??= []).push({key, operator, values: [value]});
  }
};

/** Merges `matchLabelKeys` into the selectors of affinity and spreading at creation (KEP-3633, KEP-3243). */
const settleSelectors = ({metadata, spec}: Pod, {gate}: HookContext): void => {
  const labels = metadata?.labels ?? {};
  for (const {term} of podTerms(spec?.affinity, '')) {
    if (!term.labelSelector) continue;
    addOwnValues(term.labelSelector, term.matchLabelKeys, 'In', labels);
    addOwnValues(term.labelSelector, term.mismatchLabelKeys, 'NotIn', labels);
  }
  if (!mergesSpreadKeys(gate)) return;
  for (const {labelSelector, matchLabelKeys} of spec?.topologySpreadConstraints ?? [])
    if (labelSelector) addOwnValues(labelSelector, matchLabelKeys, 'In', labels);
};

/** Copies AppArmor annotations to fields (KEP-24) and warns about deprecated ones. */
const adoptAppArmor = ({metadata, spec}: Pod, {naming, warn}: HookContext): void => {
  if (!spec || spec.os?.name === 'windows') return;
  for (const {container} of everyContainer(spec)) {
    const key = `${podAnnotations(naming).appArmor}${container.name}`;
    const annotation = metadata?.annotations?.[key];
    if (annotation === undefined || container.securityContext?.appArmorProfile) continue;
    const profile = appArmorOf(annotation);
    const isGood = profile && !isWrong(validateAppArmor(profile, ''));
    if (isGood && sameJson(profile, spec.securityContext?.appArmorProfile)) continue;
    if (isGood) (container.securityContext ??= {}).appArmorProfile = profile;
    warn(appArmorText(`metadata.annotations[${key}]`));
  }
};

const gatedText = 'Scheduling is blocked due to non-empty scheduling gates';

/** Prepares a new pod: pending, with its QoS class and everything derived from its labels and annotations. */
export const prepareNewPod = (pod: Pod, context: HookContext): void => {
  const spec = (pod.spec ??= {containers: []});
  dropDisabledFields(spec, undefined, context.gate);
  pod.status = {phase: 'Pending', qosClass: qosClassOf(spec)};
  if (spec.schedulingGates?.length) {
    pod.status.conditions = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'SchedulingGated',
        message: gatedText,
        lastProbeTime: null as never,
        lastTransitionTime: wireTime(context.clock.now()),
      },
    ];
  }
  settleSelectors(pod, context);
  adoptAppArmor(pod, context);
};

/** Raises the generation for endpoints that change the spec. */
export const countSpecChange = (pod: Pod, old: Readonly<Pod>): void => {
  if (!sameJson(pod.spec, old.spec)) pod.metadata!.generation = (old.metadata?.generation ?? 0) + 1;
};

/** Keeps the status fields that older nodes omit: QoS class and observed generation. */
export const prepareStatus = (pod: Pod, old: Readonly<Pod>, {gate}: HookContext): void => {
  const status = (pod.status ??= {});
  const before = old.status ?? {};
  if (old.metadata?.ownerReferences)
    pod.metadata!.ownerReferences = copyJson(old.metadata.ownerReferences) as NonNullable<typeof old.metadata.ownerReferences>;
  else delete pod.metadata?.ownerReferences;
  if (!status.qosClass && before.qosClass) status.qosClass = before.qosClass;
  if (!status.observedGeneration && before.observedGeneration) status.observedGeneration = before.observedGeneration;
  const seen = new Map<string, number[]>();
  for (const {type, observedGeneration = 0} of before.conditions ?? []) seen.set(type, [...(seen.get(type) ?? []), observedGeneration]);
  for (const condition of status.conditions ?? []) {
    const generation = seen.get(condition.type)?.shift();
    if (!condition.observedGeneration && generation) condition.observedGeneration = generation;
  }
  dropDisabledStatusFields(status, before, gate);
};

const resized = (containers: readonly Container[], old: readonly Container[]): Container[] =>
  containers.map((container, i) => {
    const merged = structuredClone(old[i]!);
    for (const field of ['resources', 'resizePolicy'] as const) {
      if (container[field] === undefined) delete merged[field];
      else Object.assign(merged, {[field]: container[field]});
    }
    return merged;
  });

const sameNames = (containers: readonly Container[], old: readonly Container[]): boolean =>
  containers.length === old.length && containers.every(({name}, i) => name === old[i]!.name);

/** Restricts a resize to resources, as long as the containers are the same. */
export const prepareResize = (pod: Pod, old: Readonly<Pod>, {gate}: HookContext): void => {
  const [spec, before] = [pod.spec!, old.spec! as PodSpec];
  dropDisabledFields(spec, before, gate);
  if (!gate('InPlacePodLevelResourcesVerticalScaling')) {
    if (before.resources) spec.resources = structuredClone(before.resources);
    else delete spec.resources;
  }
  const lists = ['containers', 'initContainers'] as const;
  if (lists.every(list => sameNames(spec[list] ?? [], before[list] ?? []))) {
    for (const list of lists) if (before[list]) spec[list] = resized(spec[list] ?? [], before[list]);
  }
  countSpecChange(pod, old);
};
