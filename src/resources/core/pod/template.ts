import {forbiddenField, type FieldError} from '#src/api/field-error.js';
import type {PodSpec, PodTemplateSpec} from '#src/api/pod.js';
import type {HookContext} from '#src/resources/definition.js';
import {validateAnnotations, validateLabels} from '#src/resources/validation/object-meta.js';
import {allowancesOf} from './validation/allowances.js';
import {validatePodAnnotations, validateProfilesMatch} from './validation/annotations.js';
import type {PodSpecRules} from './validation/rules.js';
import {validatePodSpec} from './validation/spec.js';

export {hasInvalidTermValues} from './validation/allowances.js';
export {defaultPodTemplate} from '#src/model/pod/defaults.js';
export {dropDisabledTemplateFields} from './disabled-fields.js';
export {podTemplateWarnings} from './warnings.js';

/** Returns the rules for a pod template; `old` is the stored template, whose invalid fields may stay. */
const templateRules = (context: HookContext, old: Readonly<PodTemplateSpec> | undefined): PodSpecRules => ({
  naming: context.naming,
  gate: context.gate,
  allowPrivileged: context.allowPrivileged,
  allow: allowancesOf(old?.spec, old?.metadata, context),
  isPod: false,
});

/** Validates a pod template. `path` is its field, for example `spec.template`. */
export function* validatePodTemplate(
  template: Readonly<PodTemplateSpec> | undefined,
  path: string,
  context: HookContext,
  old?: Readonly<PodTemplateSpec>,
): Iterable<FieldError> {
  const rules = templateRules(context, old);
  const {metadata = {}, spec = {containers: []} as PodSpec} = template ?? {};
  yield* validateLabels(metadata.labels, `${path}.labels`);
  yield* validateAnnotations(metadata.annotations, `${path}.annotations`);
  yield* validatePodAnnotations(metadata.annotations, spec, `${path}.annotations`, rules);
  yield* validatePodSpec(spec, `${path}.spec`, rules);
  yield* validateProfilesMatch(metadata.annotations, spec, `${path}.spec`, context.naming);
  if (spec.ephemeralContainers?.length)
    yield forbiddenField(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template');
}
