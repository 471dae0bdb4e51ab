import {required, type FieldError} from '#src/api/field-error.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import type {HookContext} from '#src/resources/definition.js';
import {validatePodTemplate} from '#src/resources/core/pod/template.js';
import {validateRunsForever, validateSelected, type PodTemplate} from './template.js';

/** Validates the template of a ReplicaSet or Deployment: it matches the selector and its pods restart always. */
export function* validateReplicaTemplate(
  template: PodTemplate | undefined,
  old: PodTemplate | undefined,
  selector: LabelSelector,
  context: HookContext,
  path = 'spec.template',
): Iterable<FieldError> {
  if (!template) return yield required(path);
  yield* validateSelected(selector, template, path);
  yield* validatePodTemplate(template, path, context, old);
  yield* validateRunsForever(template, path, 'ReplicaSet');
}

/** Drops the count of terminating replicas while its gate is off, unless it is in use. */
export const dropUnservedReplicaCount = (
  status: {terminatingReplicas?: number} | undefined,
  old: {terminatingReplicas?: number} | undefined,
  gate: (name: string) => boolean,
): void => {
  if (status && !gate('DeploymentReplicaSetTerminatingReplicas') && old?.terminatingReplicas === undefined)
    delete status.terminatingReplicas;
};
