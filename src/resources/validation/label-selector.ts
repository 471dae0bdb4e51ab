import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import type {LabelSelectorObject} from '#src/api/selectors/label-selector.js';
import {validateLabels} from './object-meta.js';

type Requirement = NonNullable<LabelSelectorObject['matchExpressions']>[number];

/** Validates a requirement of a label selector. */
function* validateLabelRequirement({key, operator, values = []}: Requirement, path: string, anyValue = false): Iterable<FieldError> {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) yield forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else yield invalid(`${path}.operator`, operator ?? '', 'not a valid selector operator');
  for (const problem of labelKeyProblems(key ?? '')) yield invalid(`${path}.key`, key ?? '', problem);
  if (anyValue) return;
  for (const [i, value] of values.entries()) {
    for (const problem of labelValueProblems(value)) yield invalid(`${path}.values[${i}]`, value, problem);
  }
}

/** Reports whether a stored selector has invalid label values, which it may keep. */
export const hasInvalidValues = (selector: LabelSelectorObject | undefined): boolean =>
  (selector?.matchExpressions ?? []).some(({values = []}) => values.some(value => labelValueProblems(value).length > 0));

/** Validates a label selector. `anyValue` accepts invalid label values, as stored selectors may have them. */
export function* validateLabelSelector(selector: LabelSelectorObject, path: string, anyValue = false): Iterable<FieldError> {
  yield* validateLabels(selector.matchLabels, `${path}.matchLabels`);
  for (const [i, requirement] of (selector.matchExpressions ?? []).entries()) {
    yield* validateLabelRequirement(requirement, `${path}.matchExpressions[${i}]`, anyValue);
  }
}
