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

/** Validates a requirement on labels. */
function* validateNodeRequirement(requirement: NodeSelectorRequirement, path: string, anyValue: boolean): Iterable<FieldError> {
  yield* values(requirement, path);
  yield* qualifiedName(`${path}.key`, requirement.key ?? '');
  if (anyValue) return;
  for (const [i, value] of (requirement.values ?? []).entries()) yield* each(`${path}.values[${i}]`, value, labelValueProblems(value));
}

/** Validates a requirement on fields; only the node's name is supported. */
function* field({key, operator, values: given = []}: NodeSelectorRequirement, path: string): Iterable<FieldError> {
  if (operator !== 'In' && operator !== 'NotIn') yield invalid(`${path}.operator`, operator, 'not a valid selector operator');
  else if (given.length !== 1)
    yield required(`${path}.values`, "must be only one value when `operator` is 'In' or 'NotIn' for node field selector");
  if (key !== 'metadata.name') return yield invalid(`${path}.key`, key, 'not a valid field selector key');
  for (const [i, value] of given.entries()) yield* each(`${path}.values[${i}]`, value, dnsSubdomainProblems(value));
}

export function* validateNodeTerm(
  {matchExpressions = [], matchFields = []}: NodeSelectorTerm,
  path: string,
  anyValue: boolean,
): Iterable<FieldError> {
  for (const [i, requirement] of matchExpressions.entries())
    yield* validateNodeRequirement(requirement, `${path}.matchExpressions[${i}]`, anyValue);
  for (const [i, requirement] of matchFields.entries()) yield* field(requirement, `${path}.matchFields[${i}]`);
}

/** Validates a node selector. `anyValue` accepts invalid label values, as stored selectors may have them. */
export function* validateNodeSelector(
  {nodeSelectorTerms: terms = []}: NodeSelector,
  path: string,
  anyValue: boolean,
): Iterable<FieldError> {
  if (terms.length === 0) yield required(`${path}.nodeSelectorTerms`, 'must have at least one node selector term');
  for (const [i, term] of terms.entries()) yield* validateNodeTerm(term, `${path}.nodeSelectorTerms[${i}]`, anyValue);
}
