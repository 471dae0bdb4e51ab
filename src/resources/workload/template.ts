import {forbiddenField, invalid, notSupported, required, type FieldError} from '#src/api/field-error.js';
import {dnsLabelProblems} from '#src/api/names.js';
import {labelSelectorOf, type LabelSelector, type LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import type {KubeObject, PodTemplateSpec} from '#src/api/types.js';
import {defaultPodTemplate} from '#src/resources/core/pod/template.js';
import {givenEmpty} from '#src/schema/emptied.js';
import {validateLabelSelector} from '#src/resources/validation/label-selector.js';
import {internalForm} from '#src/schema/error-texts/internal-form.js';

// Defaults and validation of pod templates and selectors that workloads share.

/** The pod template of a workload. */
export type PodTemplate = PodTemplateSpec;

/** Applies the defaults of the template, which is created if absent, so that validation can report what it lacks. */
export const defaultTemplate = (spec: {template?: PodTemplate}): void => {
  const template = (spec.template ??= {});
  template.spec ??= {containers: []};
  defaultPodTemplate(template);
};

/** Parses a selector; undefined if it is malformed. */
export const selectorOrNone = (selector: LabelSelectorObject | undefined): LabelSelector | undefined => {
  try {
    return labelSelectorOf(selector);
  } catch {
    return undefined;
  }
};

/** Validates that a selector is present, well-formed and not empty. */
export function* validateWorkloadSelector(selector: LabelSelectorObject | undefined, path: string, workload: string): Iterable<FieldError> {
  if (!selector) return yield required(path);
  yield* validateLabelSelector(selector, path);
  const terms = Object.keys(selector.matchLabels ?? {}).length + (selector.matchExpressions ?? []).length;
  if (terms === 0) yield invalid(path, selector, `empty selector is invalid for ${workload}`);
}

/** Validates that the template's labels match the selector. */
export function* validateSelected(selector: LabelSelector, template: PodTemplate | undefined, path: string): Iterable<FieldError> {
  const {metadata} = template ?? {};
  if (selector.empty || selector.matches(metadata?.labels)) return;
  const labels = metadata?.labels ? internalForm('Map', metadata.labels) : givenEmpty(metadata, 'labels');
  yield invalid(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`');
}

/** Validates that the pods of a workload have the restart policy Always. */
export function* validateRunsForever(template: PodTemplate | undefined, path: string, workload: string): Iterable<FieldError> {
  const restartPolicy = template?.spec?.restartPolicy ?? '';
  if (restartPolicy !== 'Always') yield notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']);
  if ((template?.spec?.activeDeadlineSeconds ?? undefined) !== undefined) {
    yield forbiddenField(`${path}.spec.activeDeadlineSeconds`, `activeDeadlineSeconds in ${workload} is not Supported`);
  }
}

/** Warns about a name that is not usable as host name of the pods. */
export function* nameWarnings({metadata}: Readonly<KubeObject>): Iterable<string> {
  const problems = dnsLabelProblems(metadata?.name ?? '');
  if (problems.length > 0) {
    yield `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`;
  }
}
