import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {dnsSubdomainProblems, labelValueProblems} from '#src/api/names.js';
import type {NodeSelector, NodeSelectorRequirement, NodeSelectorTerm} from '#src/api/pod.js';
import {each, qualifiedName} from './values.js';

function* values({operator, values: given = []}: NodeSelectorRequirement, path: string): Iterable<FieldError> {
  if (operator === 'In' || operator === 'NotIn') {
    if (given.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (given.length > 0) yield forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  } else if (operator === 'Gt' || operator === 'Lt') {
    if (given.length !== 1) yield required(`${path}.values`, "must be specified single value when `operator` is 'Lt' or 'Gt'");
  } else yield invalid(`${path}.operator`, operator, 'not a valid selector operator');
}

/** A term by labels. */
function* validateNodeRequirement(requirement: NodeSelectorRequirement, path: string, anyValue: boolean): Iterable<FieldError> {
  yield* values(requirement, path);
  yield* qualifiedName(`${path}.key`, requirement.key ?? '');
  if (anyValue) return;
  for (const [i, value] of (requirement.values ?? []).entries()) yield* each(`${path}.values[${i}]`, value, labelValueProblems(value));
}

/** A term by fields, which is a term by the node's name. */
function* field({key, operator, values: given = []}: NodeSelectorRequirement, path: string): Iterable<FieldError> {
  if (operator !== 'In' && operator !== 'NotIn') yield invalid(`${path}.operator`, operator, 'not a valid selector operator');
  else if (given.length !== 1) yield required(`${path}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (key !== 'metadata.name') return yield invalid(`${path}.key`, key, 'not a valid field selector key');
  for (const [i, value] of given.entries()) yield* each(`${path}.values[${i}]`, value, dnsSubdomainProblems(value));
}

export function* validateNodeTerm({matchExpressions = [], matchFields = []}: NodeSelectorTerm, path: string, anyValue: boolean): Iterable<FieldError> {
  for (const [i, requirement] of matchExpressions.entries()) yield* validateNodeRequirement(requirement, `${path}.matchExpressions[${i}]`, anyValue);
  for (const [i, requirement] of matchFields.entries()) yield* field(requirement, `${path}.matchFields[${i}]`);
}

/** Whether a choice of nodes makes sense. `anyValue` lets values that are no label values pass, as stored ones may. */
export function* validateNodeSelector({nodeSelectorTerms: terms = []}: NodeSelector, path: string, anyValue: boolean): Iterable<FieldError> {
  if (terms.length === 0) yield required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term');
  for (const [i, term] of terms.entries()) yield* validateNodeTerm(term, `${path}.nodeSelectorTerms[${i}]`, anyValue);
}
