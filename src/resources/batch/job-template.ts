import type {FieldError} from '#src/api/field-error.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {isConditionTrue} from '#src/resources/validation/conditions.js';
import {immutableInternal} from '#src/resources/validation/equality.js';
import type {PodTemplate} from '#src/resources/workload/template.js';

type Job = ObjectOf<typeof kinds.jobs>;
type PodSpec = NonNullable<PodTemplate['spec']>;

const isEmpty = (object: object): boolean => Object.keys(object).length === 0;

/** Returns the new spec with the node affinity of the old template. */
const withAffinityOf = (spec: PodSpec, before: PodSpec): PodSpec => {
  const {affinity: _, ...rest} = before;
  const {nodeAffinity: __, ...others} = before.affinity ?? {};
  const requested = spec.affinity?.nodeAffinity;
  const affinity = {...others, ...(requested ? {nodeAffinity: requested} : {})};
  // One that is given without terms stays as it is.
  return isEmpty(affinity) && !spec.affinity ? rest : {...rest, affinity};
};

/** Returns the template with the old scheduling fields (KEP-2926). */
const withSchedulingOf = (template: PodTemplate, before: PodTemplate): PodTemplate => {
  const spec = template.spec ?? ({} as PodSpec);
  const {nodeSelector: _, tolerations: __, schedulingGates: ___, ...rest} = withAffinityOf(spec, before.spec ?? ({} as PodSpec));
  const {annotations: ____, labels: _____, ...metadata} = before.metadata ?? {};
  const {annotations, labels} = template.metadata ?? {};
  return {
    ...before,
    metadata: {...metadata, ...(annotations ? {annotations} : {}), ...(labels ? {labels} : {})},
    spec: {
      ...rest,
      ...(spec.nodeSelector ? {nodeSelector: spec.nodeSelector} : {}),
      ...(spec.tolerations ? {tolerations: spec.tolerations} : {}),
      ...(spec.schedulingGates ? {schedulingGates: spec.schedulingGates} : {}),
    },
  };
};

/** Returns the template with the old container resources (KEP-5440). */
const withResourcesOf = (template: PodTemplate, before: PodTemplate): PodTemplate => {
  if (!template.spec || !before.spec) return before;
  const replaced = (containers: PodSpec['containers'] | undefined, now: PodSpec['containers'] | undefined) =>
    containers?.map((container, i) => {
      const {resources: _, ...rest} = container;
      const resources = now?.[i]?.name === container.name ? now[i]?.resources : container.resources;
      return resources ? {...rest, resources} : rest;
    });
  const [containers, initContainers] = [
    replaced(before.spec.containers, template.spec.containers) ?? [],
    replaced(before.spec.initContainers, template.spec.initContainers),
  ];
  return {...before, spec: {...before.spec, containers, ...(initContainers ? {initContainers} : {})}};
};

/** Rejects a change of the template, except for the fields that are mutable while the job is suspended. */
export function* validateTemplateChange(template: PodTemplate, old: Readonly<Job>, gate: (name: string) => boolean): Iterable<FieldError> {
  const before = old.spec!.template;
  const path = 'spec.template';
  if (!old.spec?.suspend) return yield* immutableInternal(path, 'PodTemplateSpec', template, before);
  const {conditions, active = 0, startTime} = old.status ?? {};
  const isSuspended = isConditionTrue(conditions, 'Suspended') && active === 0;
  const movable = gate('MutableSchedulingDirectivesForSuspendedJobs') ? isSuspended : !startTime;
  const moved = movable ? withSchedulingOf(template, before) : before;
  if (gate('MutablePodResourcesForSuspendedJobs') && isSuspended)
    yield* immutableInternal(`${path}.spec`, 'PodSpec', template.spec, withResourcesOf(template, moved).spec);
  else yield* immutableInternal(path, 'PodTemplateSpec', template, moved);
}
