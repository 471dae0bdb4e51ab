import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems} from '#src/api/names.js';
import {labelSelectorOf, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject, PodTemplateSpec} from '#src/api/types.js';
import {defaultPodTemplate} from '#src/resources/core/pod/template.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {internalForm} from '#src/resources/validation/internal-form.js';

/** What the pods of a workload are made of. */
export type PodTemplate = PodTemplateSpec;

/** Fills in the template, which every workload has, if only to be told what it lacks. */
export const defaultTemplate = (spec: {template?: PodTemplate}): void => {
  const template = (spec.template ??= {});
  template.spec ??= {containers: []};
  defaultPodTemplate(template);
};

/** The selector of an object, or nothing when it is malformed. */
export const selectorOrNone = (selector: LabelSelectorObject | undefined): LabelSelector | undefined => {
  try {
    return labelSelectorOf(selector);
  } catch {
    return undefined;
  }
};

/** Refuses a selector that is missing, malformed or empty. */
export function* validateWorkloadSelector(selector: LabelSelectorObject | undefined, path: string, workload: string): Iterable<FieldError> {
  if (!selector) return yield required(path);
  yield* validateLabelSelector(selector, path);
  const terms = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  if (terms === 0) yield invalid(path, selector, `empty selector is invalid for ${workload}`);
}

/** Refuses a template whose pods the workload would not find again. */
export function* validateSelected(selector: LabelSelector, template: PodTemplate | undefined, path: string): Iterable<FieldError> {
  const labels = template?.metadata?.labels;
  if (!selector.empty && !selector.matches(labels)) yield invalid(`${path}.metadata.labels`, labels && internalForm('Map', labels), '`selector` does not match template `labels`');
}

/** Pods of these workloads are to run for ever. */
export function* validateRunsForever(template: PodTemplate | undefined, path: string, workload: string): Iterable<FieldError> {
  const restartPolicy = template?.spec?.restartPolicy ?? '';
  if (restartPolicy !== 'Always') yield notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']);
  if ((template?.spec?.activeDeadlineSeconds ?? undefined) !== undefined) {
    yield forbiddenField(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${workload} is not Supported`);
  }
}

/** Warns of a name that pods cannot carry on as their host name. */
export function* nameWarnings({metadata}: Readonly<KubeObject>): Iterable<string> {
  const problems = dnsLabelProblems(metadata?.name ?? '');
  if (problems.length > 0) {
    yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`;
  }
}
