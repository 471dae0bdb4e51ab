import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import type {Reader} from '#src/api/reader.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {isForKind, podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

type PriorityClass = ObjectOf<typeof kinds.priorityClasses>;

interface Resolved {
  readonly className?: string;
  readonly priority: number;
  readonly preemptionPolicy: string | undefined;
}

const without: Resolved = {priority: 0, preemptionPolicy: 'PreemptLowerPriority'};

/**
 * Sets the priority of pods from their class or the default one, which an explicit priority must equal, and refuses a
 * second default class.
 */
export const priority = ({naming, reader}: {readonly naming: Naming; readonly reader: Reader}): AdmissionPlugin => {
  const defaultClass = async (): Promise<Readonly<PriorityClass> | undefined> => {
    const candidates = (await reader.list(kinds.priorityClasses)).filter(({globalDefault}) => globalDefault);
    // Several may have been created concurrently: the lowest one does the least harm.
    return candidates.reduce<Readonly<PriorityClass> | undefined>(
      (least, one) => (least && least.value <= one.value ? least : one),
      undefined,
    );
  };

  const resolved = async (attributes: AdmissionAttributes, {priorityClassName}: PodSpec): Promise<Resolved> => {
    if (!priorityClassName) {
      const found = await defaultClass();
      return found ? {className: found.metadata?.name ?? '', priority: found.value, preemptionPolicy: found.preemptionPolicy} : without;
    }
    const found = await reader.get(kinds.priorityClasses, '', priorityClassName);
    if (!found) throw refuse(attributes, `no PriorityClass with name ${priorityClassName} was found`);
    return {priority: found.value, preemptionPolicy: found.preemptionPolicy};
  };

  const setPriority = async (attributes: AdmissionAttributes, spec: PodSpec): Promise<void> => {
    const {className, priority: value, preemptionPolicy} = await resolved(attributes, spec);
    if (className) spec.priorityClassName = className;
    if (spec.priority !== undefined && spec.priority !== value) {
      throw refuse(
        attributes,
        `the integer value of priority (${spec.priority}) must not be provided in pod spec; priority admission controller computed ${value} from the given PriorityClass name`,
      );
    }
    spec.priority = value;
    if (!preemptionPolicy) return;
    if (spec.preemptionPolicy !== undefined && spec.preemptionPolicy !== preemptionPolicy) {
      throw refuse(
        attributes,
        `the string value of PreemptionPolicy (${spec.preemptionPolicy}) must not be provided in pod spec; priority admission controller computed ${preemptionPolicy} from the given PriorityClass name`,
      );
    }
    spec.preemptionPolicy = preemptionPolicy;
  };

  return {
    name: 'Priority',
    handles: {
      operations: ['CREATE', 'UPDATE', 'DELETE'],
      targets: [...targetsOf(naming, kinds.pods), ...targetsOf(naming, kinds.priorityClasses)],
    },
    changes: ['spec.priorityClassName', 'spec.priority', 'spec.preemptionPolicy'],
    async admit(attributes) {
      const pod = isForKind(attributes, naming, kinds.pods) ? podIn(attributes) : undefined;
      if (!pod) return;
      if (attributes.operation === 'CREATE') return setPriority(attributes, pod.spec);
      const old = (attributes.oldObject as Pod).spec;
      if (pod.spec.priority === undefined && old?.priority !== undefined) pod.spec.priority = old.priority;
      if (pod.spec.preemptionPolicy === undefined && old?.preemptionPolicy !== undefined) pod.spec.preemptionPolicy = old.preemptionPolicy;
    },
    async validate(attributes) {
      const {operation, object} = attributes;
      if (operation === 'DELETE' || !isForKind(attributes, naming, kinds.priorityClasses)) return;
      const own = object as PriorityClass;
      if (!own.globalDefault) return;
      const name = (await defaultClass())?.metadata?.name;
      if (name === undefined || (operation === 'UPDATE' && name === own.metadata?.name)) return;
      throw refuse(attributes, `PriorityClass ${name} is already marked as default. Only one default can exist`);
    },
  };
};
