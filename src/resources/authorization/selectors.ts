import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {isWrong} from '#src/api/collect-errors.js';
import {labelKeyProblems, labelValueProblems} from '#src/api/names.js';
import {fieldSelector, parseFieldSelector, type FieldRequirement} from '#src/api/selectors/field-selector.js';
import {labelSelector, parseLabelSelector} from '#src/api/selectors/label-selector.js';
import {requirementErrors, type LabelOperator, type LabelRequirement} from '#src/api/selectors/requirement.js';
import type {SelfSubjectAccessReview} from '#src/api/types.js';

export type ResourceAttributes = Readonly<NonNullable<SelfSubjectAccessReview['spec']['resourceAttributes']>>;
type Selector = NonNullable<ResourceAttributes['labelSelector']>;
type Requirement = NonNullable<Selector['requirements']>[number];

/** Unknown operators are accepted: the authorizer may know them. */
function* validateRequirement({operator, values = []}: Readonly<Requirement>, path: string): Iterable<FieldError> {
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length === 0) yield required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'");
  } else if (operator === 'Exists' || operator === 'DoesNotExist') {
    if (values.length > 0) yield forbiddenField(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
  }
}

function* validateField(requirement: Readonly<Requirement>, path: string): Iterable<FieldError> {
  if (!requirement.key) yield required(`${path}.key`, 'must be specified');
  yield* validateRequirement(requirement, path);
}

function* validateLabel(requirement: Readonly<Requirement>, path: string): Iterable<FieldError> {
  const {key = '', values = []} = requirement;
  yield* validateRequirement(requirement, path);
  for (const problem of labelKeyProblems(key)) yield invalid(`${path}.key`, key, problem);
  for (const [i, value] of values.entries())
    for (const problem of labelValueProblems(value)) yield invalid(`${path}.values[${i}]`, value, problem);
}

function* validateSelector(
  selector: Readonly<Selector> | undefined,
  path: string,
  validate: (requirement: Readonly<Requirement>, path: string) => Iterable<FieldError>,
): Iterable<FieldError> {
  if (!selector) return;
  const {rawSelector, requirements = []} = selector;
  if (rawSelector && requirements.length > 0)
    yield invalid(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements');
  if (!rawSelector && requirements.length === 0)
    yield required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`);
  for (const [i, requirement] of requirements.entries()) yield* validate(requirement, `${path}.requirements[${i}]`);
}

const [fieldsPath, labelsPath] = ['spec.resourceAttributes.fieldSelector', 'spec.resourceAttributes.labelSelector'];

/** Validates the selectors of the attributes. */
export function* validateSelectors(attributes: ResourceAttributes | undefined): Iterable<FieldError> {
  yield* validateSelector(attributes?.fieldSelector, fieldsPath, validateField);
  yield* validateSelector(attributes?.labelSelector, labelsPath, validateLabel);
}

/** The requirements parsed from a selector; `partial` if some were not understood. */
interface Read {
  readonly text: string;
  readonly partial: boolean;
}

const operators: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

const labelOf = ({key, operator, values = []}: Readonly<Requirement>): LabelRequirement[] => {
  const known = operators.get(operator);
  const requirement = known && {key, operator: known, values};
  return requirement && !isWrong(requirementErrors(requirement)) ? [requirement] : [];
};

/** Field requirements have exactly one value. */
const fieldOf = ({key, operator, values = []}: Readonly<Requirement>): FieldRequirement[] =>
  values.length === 1 && (operator === 'In' || operator === 'NotIn')
    ? [{field: key, operator: operator === 'In' ? '=' : '!=', value: values[0]!}]
    : [];

const readRaw = (text: string, parse: (text: string) => unknown): Read => {
  try {
    parse(text);
    return {text, partial: false};
  } catch {
    return {text: '', partial: true};
  }
};

function read<T>(
  selector: Readonly<Selector> | undefined,
  parse: (text: string) => unknown,
  of: (requirement: Requirement) => T[],
  make: (known: readonly T[]) => {toString(): string},
): Read | undefined {
  if (!selector) return undefined;
  const {rawSelector, requirements = []} = selector;
  if (requirements.length === 0) return rawSelector ? readRaw(rawSelector, parse) : undefined;
  const known = requirements.flatMap(of);
  return {text: String(make(known)), partial: known.length < requirements.length};
}

/** Returns the selectors as queries write them, as far as they could be parsed. */
export const readSelectors = ({
  labelSelector: labels,
  fieldSelector: fields,
}: ResourceAttributes): {readonly labels: Read | undefined; readonly fields: Read | undefined} => ({
  labels: read(labels, parseLabelSelector, labelOf, labelSelector),
  fields: read(fields, parseFieldSelector, fieldOf, fieldSelector),
});

/** Returns the warnings for selectors that were not parsed, or not completely. */
export const selectorProblems = (attributes: ResourceAttributes | undefined): string[] => {
  const {labels, fields} = attributes ? readSelectors(attributes) : {};
  const problem = (path: string, one: Read | undefined): string[] =>
    one?.partial ? [`${path} ${one.text ? 'partially ignored' : 'ignored'} due to parse error`] : [];
  return [...problem(fieldsPath, fields), ...problem(labelsPath, labels)];
};
